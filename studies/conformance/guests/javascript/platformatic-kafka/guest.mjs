// A guest around the stream of @platformatic/kafka (docs/guests.md).
//
// With a buffer that was read to its end, the stream's offsets to fetch are the member's positions.
// A message has the leader epoch of its batch; what is committed has that of the metadata, which the
// stream's event of commits shows. Automatic commits are those of `autocommit: true`, its default:
// after each fetch, of what the application has yet to read, too.

import { once } from 'node:events'
import { Consumer, FetchIsolationLevels } from '@platformatic/kafka'
import { Failure, RECORDS_MAX, log, requireKnown, serve } from './lines.mjs'

const SETTINGS = [
  'sessionTimeout', 'rebalanceTimeout', 'heartbeatInterval', 'autocommit', 'maxWaitTime',
  'metadataMaxAge', 'groupProtocol',
]
const FALLBACKS = { earliest: 'earliest', latest: 'latest', none: 'fail' }
const REFUSALS = [
  'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS', 'FENCED_INSTANCE_ID',
  'STALE_MEMBER_EPOCH',
]

class Guest {
  #consumer
  #stream
  #options
  #rebalanced = false
  #failures = []
  #last = new Map()
  #committed

  async open({ bootstrap, group, member, topic, reset, isolation, commit, settings }) {
    requireKnown(settings, SETTINGS)
    this.#consumer = new Consumer({
      groupId: group,
      clientId: member,
      bootstrapBrokers: bootstrap.split(','),
      ...settings,
    })
    this.#consumer.on('consumer:group:join', () => {
      this.#rebalanced = true
      this.#last.clear()
    })
    for (const event of ['group:rebalance', 'group:leave', 'heartbeat:error', 'rejoin']) {
      this.#consumer.on(`consumer:${event}`, payload => log(`${event} ${payload?.error ?? ''}`))
    }
    this.#options = {
      topics: [topic],
      autocommit: settings.autocommit ?? commit === 'automatic',
      mode: 'committed',
      fallbackMode: FALLBACKS[reset],
      isolationLevel: FetchIsolationLevels[isolation.toUpperCase()],
    }
    this.#consume()
    return this
  }

  // A stream that failed is destroyed: the next poll makes another one, as an application does.
  #consume() {
    this.#stream = this.#consumer.consume(this.#options).then(
      stream => {
        stream.on('error', error => this.#fail(error))
        stream.on('autocommit', (error, offsets) => {
          this.#committed = error ? undefined : offsets
        })
        return stream
      },
      error => this.#fail(error),
    )
  }

  #fail(error) {
    this.#failures.push(error)
    this.#stream = undefined
  }

  async poll(timeoutMs) {
    const end = AbortSignal.timeout(timeoutMs)
    const ended = once(end, 'abort')
    if (!this.#stream && !this.#failures.length) this.#consume()
    const stream = await Promise.race([this.#stream, ended.then(() => undefined)])
    if (stream && !stream.readableLength && !this.#failures.length) {
      await once(stream, 'readable', { signal: end }).catch(() => {}) // or its error, which is kept
    }
    if (this.#failures.length) throw named(this.#failures.shift())
    const records = []
    for (let one; records.length < RECORDS_MAX && (one = stream?.read());) {
      const { partition, leaderEpoch, value } = one
      const offset = Number(one.offset)
      records.push({ partition, offset, epoch: leaderEpoch, value: value?.toString() ?? '' })
      this.#last.set(partition, one)
    }
    const [mine] = this.#consumer.assignments ?? []
    const rebalanced = this.#rebalanced
    this.#rebalanced = false
    const assigned = mine?.partitions ?? []
    return { records, assigned, positions: this.#positions(stream, assigned), rebalanced }
  }

  #positions(stream, assigned) {
    if (stream?.readableLength) return undefined
    return assigned.flatMap(partition => {
      const offset = stream?.offsetsToFetch.get(`${this.#options.topics[0]}:${partition}`)
      return offset === undefined ? [] : [{ partition, offset: Number(offset) }]
    })
  }

  async commit() {
    this.#committed = this.#last.size ? undefined : []
    try {
      await Promise.all([...this.#last.values()].map(message => message.commit()))
    } catch (error) {
      throw named(error)
    }
    this.#last.clear()
    const committed = this.#committed?.map(({ partition, offset, leaderEpoch }) => ({
      partition, offset: Number(offset), epoch: leaderEpoch,
    }))
    return { committed }
  }

  async close() {
    const stream = await this.#stream
    await stream?.close()
    await this.#consumer.close(true)
    return {}
  }
}

/** Return an error with the name that Kafka's protocol has, or the client's code. */
function named(error) {
  const causes = [error]
  for (const one of causes) causes.push(...(one.errors ?? []), ...(one.cause ? [one.cause] : []))
  const ofKafka = causes.find(one => one.apiId)
  return new Failure(ofKafka?.apiId ?? error.code ?? error.name, causes.at(-1).message, {
    definite: REFUSALS.includes(ofKafka?.apiId) || undefined,
  })
}

serve('@platformatic/kafka', request => new Guest().open(request))
