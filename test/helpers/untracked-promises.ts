import asyncHooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

/*
 * tap follows each promise to find the test in which an error is thrown that nothing catches. This takes up to a fifth
 * of the time; timers and sockets are enough to find the test.
 */
const { createHook } = asyncHooks
asyncHooks.createHook = (hooks) => createHook({ ...hooks, trackPromises: false })
syncBuiltinESMExports()
