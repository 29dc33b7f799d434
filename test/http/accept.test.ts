import accepts from '@fastify/accepts'
import fastify from 'fastify'
import t from 'tap'
import { chooseMediaType } from '../../src/http/preconditions.ts'

t.test('the media type that the header likes best is answered, else the usual one', async (t) => {
  const answers = ['application/json', 'text/csv', 'application/x-ndjson']
  const cases: [accept: string | undefined, chosen: string | undefined][] = [
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['text/csv', 'text/csv'],
    ['Text/CSV', 'text/csv'],
    ['text/*', 'text/csv'],
    ['image/png, text/*;q=0.1', 'text/csv'],
    ['application/*', 'application/json'],
    ['application/json;q=0.5, text/csv;q=0.6', 'text/csv'],
    ['application/json;q=0.6 , text/csv ; q=0.5', 'application/json'],
    ['text/csv;charset=utf-8;q=0.5, */*;q=0.4', 'text/csv'],
    ['application/json; charset=UTF-8', 'application/json'],
    ['*/*;q=0.9, application/json;q=0.1', 'text/csv'],
    ['application/*;q=0, */*', 'text/csv'],
    ['image/png', undefined],
    ['*/*;q=0', undefined],
    ['text/csv;q=0', undefined],
  ]
  const app = fastify()
  await app.register(accepts)
  app.get('/', async (request) => ({ chosen: chooseMediaType(request, answers) }))
  for (const [accept, chosen] of cases) {
    const response = await app.inject({ url: '/', headers: accept === undefined ? {} : { accept } })
    t.equal(response.json().chosen, chosen, accept ?? 'no header')
  }
})
