// A guest around the stream of @platformatic/kafka (docs/guests.md).
//
// With a buffer that was read to its end, the stream's offsets to fetch are the member's positions;
// before, a partition has one after a record that was returned.
// A message has the leader epoch of its batch; what is committed has that of the metadata, which the
// stream's event of commits shows. Automatic commits are those of `autocommit: true`, its default:
// after each fetch, of what the application has yet to read, too.
// With the argument `consumer` its group uses KIP-848's protocol: an assignment is then no event, and
// is compared with the one of the poll before.

import { Consumer, FetchIsolationLevels } from '@platformatic/kafka'
import { Failure, RECORDS_MAX, log, requireKnown, serve } from './lines.mjs'

const SETTINGS = [
  'sessionTimeout', 'rebalanceTimeout', 'heartbeatInterval', 'autocommit', 'maxWaitTime',
  'metadataMaxAge',
]
const isConsumerProtocol = process.argv[2] === 'consumer'
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
  #assigned = []
  #failures = []
  #last = new Map()
  #done = new WeakSet()
  #committed = []
  #wake = () => {}

  async open({ bootstrap, group, member, topic, reset, isolation, commit, settings }) {
    requireKnown(settings, SETTINGS)
    this.#consumer = new Consumer({
      groupId: group,
      clientId: member,
      bootstrapBrokers: bootstrap.split(','),
      groupProtocol: isConsumerProtocol ? 'consumer' : 'classic',
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
        stream.on('readable', () => this.#wake())
        stream.on('error', error => this.#fail(error))
        stream.on('autocommit', (error, offsets = []) => this.#committed.push(...offsets))
        return stream
      },
      error => this.#fail(error),
    )
  }

  #fail(error) {
    this.#failures.push(error)
    this.#stream = undefined
    this.#wake()
  }

  // The stream begins to fetch again when it is read to its end, so it is read before the wait.
  async #read(timeoutMs) {
    let end
    const ended = new Promise(resolve => {
      end = setTimeout(resolve, timeoutMs)
      this.#wake = resolve
    })
    const stream = await Promise.race([this.#stream, ended])
    let records = this.#buffered(stream)
    if (!records.length && !this.#failures.length) {
      await ended
      records = this.#buffered(stream)
    }
    clearTimeout(end)
    return [stream, records]
  }

  #buffered(stream) {
    const records = []
    for (let one; records.length < RECORDS_MAX && (one = stream?.read());) records.push(one)
    return records
  }

  async poll(timeoutMs) {
    if (!this.#stream && !this.#failures.length) this.#consume()
    const [stream, messages] = await this.#read(timeoutMs)
    if (!messages.length && this.#failures.length) throw named(this.#failures.shift())
    const records = messages.map(one => {
      this.#last.set(one.partition, one)
      const { partition, leaderEpoch, value } = one
      const offset = Number(one.offset)
      return { partition, offset, epoch: leaderEpoch, value: value?.toString() ?? '' }
    })
    const [mine] = this.#consumer.assignments ?? []
    const assigned = mine?.partitions ?? []
    const rebalanced = isConsumerProtocol ? this.#assignedAnew(assigned) : this.#rebalanced
    this.#rebalanced = false
    return { records, assigned, positions: this.#positions(stream, assigned), rebalanced }
  }

  #assignedAnew(assigned) {
    const before = this.#assigned
    this.#assigned = [...assigned]
    for (const one of before) if (!assigned.includes(one)) this.#last.delete(one)
    return assigned.filter(one => !before.includes(one))
  }

  #positions(stream, assigned) {
    return assigned.flatMap(partition => {
      const returned = this.#last.get(partition)
      const fetched = stream?.offsetsToFetch.get(`${this.#options.topics[0]}:${partition}`)
      const offset = stream?.readableLength ? returned && returned.offset + 1n : fetched
      return offset === undefined ? [] : [{ partition, offset: Number(offset) }]
    })
  }

  async commit() {
    this.#committed = []
    const uncommitted = [...this.#last.values()].filter(one => !this.#done.has(one))
    try {
      await Promise.all(uncommitted.map(message => message.commit()))
    } catch (error) {
      throw named(error)
    }
    for (const one of uncommitted) this.#done.add(one)
    const committed = this.#committed.map(({ partition, offset, leaderEpoch }) => ({
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
