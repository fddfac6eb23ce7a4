// A guest around KafkaJS's consumer (docs/guests.md).
//
// The client pushes batches to a handler, which waits here until a batch was returned by a poll and
// processed. It shows the assignment of each join and no positions. A message has the leader epoch of
// its batch, which the client's types do not declare; a commit has none. It has two resets, by
// `fromBeginning`, and no `none`.

import { createRequire } from 'node:module'
import { Failure, Handover, RECORDS_MAX, log, requireKnown, serve } from './lines.mjs'

const require = createRequire(import.meta.url)
const { Kafka } = require('kafkajs')

const SETTINGS = [
  'sessionTimeout', 'rebalanceTimeout', 'heartbeatInterval', 'metadataMaxAge', 'maxWaitTimeInMs',
]
const RUN_SETTINGS = ['autoCommitInterval', 'autoCommitThreshold']
const REFUSALS = [
  'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS', 'FENCED_INSTANCE_ID',
]

class Guest {
  #handover = new Handover()
  #topic
  #consumer
  #assigned = []
  #rebalanced = false
  #last = new Map()
  #committed

  async open({ bootstrap, group, member, topic, reset, isolation, commit, settings }) {
    requireKnown(settings, [...SETTINGS, ...RUN_SETTINGS])
    if (reset === 'none') throw new Failure('Unsupported', 'kafkajs resets always')
    const ofRun = Object.fromEntries(Object.entries(settings).filter(([n]) => RUN_SETTINGS.includes(n)))
    const ofConsumer = Object.fromEntries(Object.entries(settings).filter(([n]) => SETTINGS.includes(n)))
    this.#topic = topic
    const kafka = new Kafka({
      clientId: member,
      brokers: bootstrap.split(','),
      logCreator: () => ({ namespace, label, log: { message, ...extra } }) =>
        log(`${label} [${namespace}] ${message} ${JSON.stringify(extra)}`),
    })
    const consumer = kafka.consumer({
      groupId: group,
      readUncommitted: isolation === 'read_uncommitted',
      ...ofConsumer,
    })
    this.#consumer = consumer
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      this.#assigned = payload.memberAssignment[topic] ?? []
      this.#rebalanced = true
      this.#last.clear()
    })
    consumer.on(consumer.events.COMMIT_OFFSETS, ({ payload }) => {
      this.#committed = payload.topics.flatMap(one => one.partitions)
    })
    // One that has `restart` is handled by the client.
    consumer.on(consumer.events.CRASH, ({ payload: { error, restart } }) => {
      if (!restart) this.#handover.fail(named(error))
    })
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: reset === 'earliest' })
    consumer.run({
      ...ofRun,
      autoCommit: commit === 'automatic',
      eachBatchAutoResolve: false,
      eachBatch: payload => this.#eachBatch(payload),
    }).catch(error => this.#handover.fail(named(error)))
    return this
  }

  async #eachBatch({ batch, resolveOffset, heartbeat, isRunning, isStale }) {
    for (let first = 0; first < batch.messages.length; first += RECORDS_MAX) {
      if (!isRunning() || isStale()) return
      const chunk = batch.messages.slice(first, first + RECORDS_MAX)
      const records = chunk.map(({ offset, value, batchContext }) => ({
        partition: batch.partition,
        offset: Number(offset),
        epoch: batchContext?.partitionLeaderEpoch,
        value: value?.toString() ?? '',
      }))
      if (!(await this.#handover.offer(records))) return
      resolveOffset(chunk.at(-1).offset)
      await heartbeat()
    }
  }

  async poll(timeoutMs) {
    await this.#handover.processed()
    const records = await this.#handover.take(timeoutMs)
    for (const { partition, offset } of records) this.#last.set(partition, offset + 1)
    const rebalanced = this.#rebalanced
    this.#rebalanced = false
    return { records, assigned: this.#assigned, rebalanced }
  }

  // The call returns without an error when the consumer is not running, and commits nothing: only the
  // event shows that the group has stored them.
  async commit() {
    await this.#handover.processed()
    const offsets = [...this.#last].map(([partition, offset]) => ({
      topic: this.#topic, partition, offset: String(offset),
    }))
    this.#committed = offsets.length ? undefined : []
    try {
      if (offsets.length) await this.#consumer.commitOffsets(offsets)
    } catch (error) {
      throw named(error)
    }
    const committed = this.#committed?.map(({ partition, offset }) => ({
      partition, offset: Number(offset),
    }))
    return { committed }
  }

  async close() {
    await this.#handover.processed()
    this.#handover.drop()
    await this.#consumer.disconnect()
    return {}
  }
}

/** Return an error with its name: that of Kafka's protocol, where it has one. */
function named(error) {
  let cause = error
  while (cause.cause instanceof Error) cause = cause.cause
  const { name, type, partition, message } = cause
  return new Failure(type ?? name, message, {
    partition, definite: REFUSALS.includes(type) || undefined,
  })
}

serve('kafkajs', request => new Guest().open(request))
