import { readContract } from '../contract/document.ts'
import { type ProblemType, problemTypes } from '../contract/problem.ts'

const again = 'Send it again after the seconds of `Retry-After`. Nothing was written.'

/** What to do about each problem; a new type fails to compile until it is listed here. */
const advice = {
  'malformed-body':
    'Correct the body where `detail` says. A body that is made by a program should come from its JSON library.',
  'malformed-file':
    'Correct the line that `detail` names. A file that broke off on its way can be sent again as it is.',
  'invalid-request':
    'Correct what `errors` lists and send all of it again: nothing was written. For a file, `Accept: text/csv` returns the rejected rows, each with its errors.',
  'result-too-large': 'Ask for less: name more of the keys, or take smaller pages or a file.',
  'too-costly': 'Narrow the read: name the code or more of the extensions.',
  unauthorized:
    'Log in again (`POST /login/`, `pricewell login`), or look whether the API key was revoked or has expired.',
  forbidden:
    'Use what `detail` asks for. A user with the scope `admin` can create API keys with the scopes that they have.',
  'wrong-password':
    'Try the current password again; a user with the scope `admin` and all scopes of yours can reset it.',
  'not-found': 'Look up the id or the path. What belongs to another account is not found either.',
  'price-list-not-found':
    'Look up the name, `GET /api/v1/price_list/` or `pricewell lists`: capitals and blanks count.',
  'method-not-allowed': 'Use one of the methods in the header `Allow`.',
  'not-acceptable': 'Send an `Accept` that the operation supports, or none.',
  'name-taken': 'Take another name, or change the price list that has it.',
  'price-list-not-published':
    'Publish the list first: add products to it, or synchronise it with the catalog.',
  'price-list-not-valid':
    'Ask for a day on which the list is valid, choose another list, or leave `require_valid` out.',
  'decimals-in-use': 'Keep the decimals or raise them. For fewer, make another list.',
  'price-list-not-managed': 'Change the list where it was made, or make another one here.',
  'revert-conflict':
    'Look at the cells in `errors`. `on_conflict: skip` leaves them as they are and undoes the rest.',
  'plan-stale':
    'Make the plan again, or apply it with `skip: [stale]`, which leaves the changed rows out.',
  'plan-not-open': 'Make a new plan.',
  'history-not-kept': 'Ask for a moment at or after `oldest`.',
  'schema-in-use': 'Send a schema that keeps what is in use, or remove what uses it first.',
  'product-in-use':
    'Remove the products in `errors` from their lists first: `POST /api/v1/prices/bulk_remove_products/`.',
  'no-competitor-schema':
    'Make a competitor schema first: `POST /api/v1/competitor_prices/schema/create_schema/`.',
  'stale-rows': 'Send the newest data, or `on_stale: skip`, which leaves the rows in `errors` out.',
  'agreement-exists': 'Change the agreement that has the key.',
  'api-key-name-taken': 'Take another name, or revoke the key that has it.',
  'too-many-api-keys': 'Revoke keys that are no longer used.',
  'email-taken': 'Take another e-mail, or give the user who has it other scopes.',
  'last-admin': 'Give another user the scope `admin` first.',
  'job-ended': 'There is nothing to do: read the job to see what became of it.',
  'idempotency-key-in-use': 'Wait, and send it again for the answer of the first request.',
  'precondition-failed': 'Read it again, apply your change to that, and send the new `ETag`.',
  'payload-too-large': 'Send it in several calls, or as a file, within the limit in `detail`.',
  'uri-too-long': 'Send fewer or shorter filters.',
  'unsupported-media-type':
    'Send a media type that the operation takes, uncompressed or with `Content-Encoding: gzip`.',
  'guardrail-violated':
    'Correct the prices in `errors`, change the guardrails of the list, or pass them with `Override-Guardrails` and a reason (scope `override`).',
  'idempotency-key-reused': 'Take a new `Idempotency-Key` for each new request.',
  'too-many-requests':
    'Send it again after the seconds of `Retry-After`, once there is less of what `detail` names. Nothing was written.',
  'headers-too-large': 'Send fewer or shorter headers.',
  'internal-error':
    'Report it with `instance`, which finds the cause in the log. Nothing was written, and sending it again rarely helps.',
  'outcome-unknown':
    'Send it again with the same `Idempotency-Key`: it takes effect once. Loads set rows to what they say, so they can be sent again in any case. Otherwise: look at what is there.',
  overloaded: again,
  unavailable: again,
} satisfies Record<ProblemType, string>

/** The Markdown of /docs/problems: each problem type with its meaning in the contract, and what to do. */
export function problemsText(): string {
  const { ProblemType: types, ErrorCode: codes } = readContract().components.schemas
  const sections = meaningsOf(types.description).map(({ type, meaning }) => {
    const { status, title } = problemTypes[type]
    return `## ${type}\n\n**${status} ${title}.** ${sentence(meaning)}\n\n${advice[type]}\n`
  })
  return `# Problems

Errors are returned as problem details (RFC 9457): \`type\` names it and is a section of this page, \`detail\` says what was
wrong this time, and \`errors\` names each bad row. Nothing was written, unless it says otherwise.

${sections.join('\n')}
## Errors of rows and parameters

Each error of a row, a column or a parameter has one of these codes.

${codes.description.slice(codes.description.indexOf('- '))}`
}

/** The problem types with their descriptions, in the order of the contract. */
function meaningsOf(description: string): { type: ProblemType; meaning: string }[] {
  const items = description.matchAll(/^- `([\w-]+)` \d+: (.+(?:\n {2}.+)*)/gm)
  return [...items].map(([, type, meaning = '']) => ({ type: type as ProblemType, meaning }))
}

/** Adds a full stop and a capital, unless the text starts with code. */
function sentence(text: string): string {
  return `${text.replace(/^[a-z]/, (letter) => letter.toUpperCase())}.`
}
