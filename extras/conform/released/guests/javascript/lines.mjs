// The guest's protocol (docs/guests.md): one request a line on standard input, one response a line
// on standard output.

import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

export const RECORDS_MAX = 1000

/** An error that a guest reports by itself, or one of the client with a name of its own. */
export class Failure extends Error {
  constructor(name, message, fields = {}) {
    super(message)
    this.name = name
    this.fields = fields
  }
}

/** Check that each setting is one of those that a guest knows. */
export function requireKnown(settings, known) {
  for (const name of Object.keys(settings)) {
    if (!known.includes(name)) throw new Failure('UnknownSetting', name)
  }
}

/** Log to standard error: a guest prints nothing but responses on standard output. */
export function log(text) {
  process.stderr.write(`${new Date().toISOString()} ${text}\n`)
}

/** Return the version of a package that is installed beside this file. */
export function versionOf(name) {
  const of = new URL(`node_modules/${name}/package.json`, import.meta.url)
  return JSON.parse(readFileSync(of, 'utf8')).version
}

/**
 * Respond to requests until close, or until the end of the input.
 *
 * `open` gets the first request and returns the guest, which has the methods `poll(timeoutMs)`,
 * `commit()` and `close()`. Each returns the fields of its response.
 */
export async function serve(client, open) {
  let guest
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line)
    let response
    try {
      if (request.do === 'open') {
        guest = await open(request)
        response = { client, version: versionOf(client) }
      } else if (!guest) throw new Failure('NotOpen', request.do)
      else if (request.do === 'poll') response = await guest.poll(request.timeout_ms)
      else if (request.do === 'commit') response = await guest.commit()
      else if (request.do === 'close') response = await guest.close()
      else throw new Failure('UnknownRequest', request.do)
    } catch (error) {
      const { name = 'Error', message = String(error), fields } = error
      response = { error: { name, message, ...fields } }
    }
    process.stdout.write(`${JSON.stringify({ id: request.id, ...response })}\n`)
    if (request.do === 'close') break
  }
  process.exit(0)
}

/**
 * Records on their way from a client that pushes them to a request that asks for them.
 *
 * The client's handler waits in `offer` until its records were returned and the request after that
 * came: an application would have processed them by then.
 */
export class Handover {
  #offered = []
  #returned = []
  #failures = []
  #wake = () => {}

  /** Offer records; true once they were processed, false if they were not, as the guest is closed. */
  offer(records) {
    return new Promise(resolve => {
      this.#offered.push({ records, resolve })
      this.#wake()
    })
  }

  /** Report an error with the next poll. */
  fail(error) {
    this.#failures.push(error)
    this.#wake()
  }

  /** What was returned is processed: each request begins with this. */
  async processed() {
    for (const { resolve } of this.#returned.splice(0)) resolve(true)
    await new Promise(setImmediate) // the handlers go on first
  }

  /** Return the records that are offered, or that are within the time; raise an error before them. */
  async take(timeoutMs) {
    if (!this.#offered.length && !this.#failures.length) {
      await new Promise(resolve => {
        const timer = setTimeout(resolve, timeoutMs)
        this.#wake = () => (clearTimeout(timer), resolve())
      })
      this.#wake = () => {}
    }
    if (this.#failures.length) throw this.#failures.shift()
    const taken = this.#offered.splice(0)
    this.#returned.push(...taken)
    return taken.flatMap(({ records }) => records)
  }

  /** Let handlers end whose records were not returned. */
  drop() {
    for (const { resolve } of this.#offered.splice(0)) resolve(false)
  }
}
