// A guest around kafka.Consumer of confluent-kafka-go, which is librdkafka in C (docs/guests.md).
//
// The client shows no position until a record comes. A partition without one has that of its end,
// which is an event (enable.partition.eof).
package main

import (
	"errors"
	"slices"
	"time"

	"guests/lines"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

var resets = map[string]string{"earliest": "earliest", "latest": "latest", "none": "error"}

// handled are errors after which librdkafka tries again, or joins its group again at the next poll.
var handled = []kafka.ErrorCode{
	kafka.ErrAllBrokersDown, kafka.ErrMaxPollExceeded, kafka.ErrTimedOut, kafka.ErrTransport,
	kafka.ErrLeaderNotAvailable, kafka.ErrNotLeaderForPartition, kafka.ErrUnknownTopicOrPart,
}

var refusals = []kafka.ErrorCode{
	kafka.ErrIllegalGeneration, kafka.ErrRebalanceInProgress, kafka.ErrUnknownMemberID,
}

type guest struct {
	consumer   *kafka.Consumer
	ends       map[int32]int64 // of partitions without a record yet
	failure    error           // of a poll that had records, too
	rebalanced bool
}

func open(asked lines.Open) (lines.Guest, error) {
	config := &kafka.ConfigMap{
		"bootstrap.servers":    asked.Bootstrap,
		"group.id":             asked.Group,
		"client.id":            asked.Member,
		"auto.offset.reset":    resets[asked.Reset],
		"isolation.level":      asked.Isolation,
		"enable.auto.commit":   !asked.IsExplicit(),
		"enable.partition.eof": true,
	}
	for name, value := range asked.Settings {
		if number, isNumber := value.(float64); isNumber {
			value = int(number)
		}
		if err := config.SetKey(name, value); err != nil {
			return nil, named(err)
		}
	}
	consumer, err := kafka.NewConsumer(config)
	if err != nil {
		return nil, named(err)
	}
	g := &guest{consumer: consumer, ends: map[int32]int64{}}
	return g, consumer.Subscribe(asked.Topic, g.onRebalance)
}

// onRebalance leaves the assignment itself to the client.
func (g *guest) onRebalance(_ *kafka.Consumer, event kafka.Event) error {
	if given, isGiven := event.(kafka.AssignedPartitions); isGiven {
		for _, one := range given.Partitions {
			delete(g.ends, one.Partition)
		}
		g.rebalanced = g.rebalanced || len(given.Partitions) > 0
	}
	return nil
}

func (g *guest) Poll(timeout time.Duration) (lines.Polled, error) {
	var polled lines.Polled
	for g.failure == nil && len(polled.Records) < lines.RecordsMax {
		event := g.consumer.Poll(int(timeout.Milliseconds()))
		if event == nil {
			break
		}
		switch one := event.(type) {
		case *kafka.Message:
			at := one.TopicPartition
			if g.fail(at.Error) {
				break
			}
			delete(g.ends, at.Partition)
			polled.Records = append(polled.Records, lines.Record{
				Partition: at.Partition, Offset: int64(at.Offset), Epoch: at.LeaderEpoch,
				Value: string(one.Value),
			})
			timeout = 0 // what else is there already
		case kafka.PartitionEOF:
			g.ends[one.Partition] = int64(one.Offset)
		case kafka.Error:
			g.fail(one)
		}
	}
	if g.failure != nil && len(polled.Records) == 0 {
		failure := g.failure
		g.failure = nil
		return lines.Polled{}, named(failure)
	}
	have, err := g.consumer.Assignment()
	if err != nil {
		return lines.Polled{}, named(err)
	}
	at, err := g.consumer.Position(have)
	if err != nil {
		return lines.Polled{}, named(err)
	}
	polled.Assigned = []int32{}
	for _, one := range have {
		polled.Assigned = append(polled.Assigned, one.Partition)
	}
	slices.Sort(polled.Assigned)
	polled.Positions = g.positions(at)
	polled.Rebalanced, g.rebalanced = g.rebalanced, false
	return polled, nil
}

// fail keeps an error that the client does not handle by itself, and says whether it is one at all.
func (g *guest) fail(err error) bool {
	var failure kafka.Error
	if errors.As(err, &failure) && !slices.Contains(handled, failure.Code()) {
		g.failure = err
	}
	return err != nil
}

func (g *guest) positions(of []kafka.TopicPartition) []lines.Position {
	found := []lines.Position{}
	for _, one := range of {
		at := lines.Position{Partition: one.Partition, Offset: int64(one.Offset), Epoch: one.LeaderEpoch}
		if one.Offset < 0 {
			end, isKnown := g.ends[one.Partition]
			if !isKnown {
				continue
			}
			at.Offset = end
		}
		found = append(found, at)
	}
	return found
}

func (g *guest) Commit() ([]lines.Position, error) {
	committed, err := g.consumer.Commit()
	var failure kafka.Error
	switch {
	case errors.As(err, &failure) && failure.Code() == kafka.ErrNoOffset: // there is nothing new
		return []lines.Position{}, nil
	case err != nil:
		return nil, named(err)
	}
	stored := []kafka.TopicPartition{}
	for _, one := range committed {
		if one.Error != nil {
			return nil, named(one.Error)
		}
		if one.Offset >= 0 {
			stored = append(stored, one)
		}
	}
	return g.positions(stored), nil
}

func (g *guest) Close() error { return g.consumer.Close() }

// named gives an error the client's text of its code, which has no other name in Go.
func named(err error) error {
	var failure kafka.Error
	if !errors.As(err, &failure) {
		return err
	}
	return &lines.Error{
		Name: failure.Code().String(), Message: failure.Error(),
		Definite: slices.Contains(refusals, failure.Code()),
	}
}

func main() { lines.Serve("github.com/confluentinc/confluent-kafka-go/v2", open) }
