import { passwordCost } from '../../src/accounts/password.ts'

/** The hashes of this process, which would take a tenth of the time of the tests. */
passwordCost.N = 2 ** 10
