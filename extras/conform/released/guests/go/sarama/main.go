// A guest around sarama's ConsumerGroup (docs/guests.md).
//
// The client runs a goroutine for each claim, which waits here until what it received was returned by
// a poll and processed. It shows claims, and no positions and leader epochs of records. Session.Commit
// returns nothing: an error of it comes on the channel of errors, if at all, so that this guest can't
// say what was committed. ResetInvalidOffsets=0 reports an offset that is out of range; a group without
// a commit begins at Offsets.Initial all the same, so there is no reset `none`.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"sync"
	"time"

	"guests/lines"

	"github.com/IBM/sarama"
)

var names = map[sarama.KError]string{
	sarama.ErrOffsetOutOfRange:                "ErrOffsetOutOfRange",
	sarama.ErrUnknownTopicOrPartition:         "ErrUnknownTopicOrPartition",
	sarama.ErrLeaderNotAvailable:              "ErrLeaderNotAvailable",
	sarama.ErrNotLeaderForPartition:           "ErrNotLeaderForPartition",
	sarama.ErrRequestTimedOut:                 "ErrRequestTimedOut",
	sarama.ErrOffsetsLoadInProgress:           "ErrOffsetsLoadInProgress",
	sarama.ErrConsumerCoordinatorNotAvailable: "ErrConsumerCoordinatorNotAvailable",
	sarama.ErrNotCoordinatorForConsumer:       "ErrNotCoordinatorForConsumer",
	sarama.ErrIllegalGeneration:               "ErrIllegalGeneration",
	sarama.ErrUnknownMemberId:                 "ErrUnknownMemberId",
	sarama.ErrRebalanceInProgress:             "ErrRebalanceInProgress",
	sarama.ErrFencedLeaderEpoch:               "ErrFencedLeaderEpoch",
	sarama.ErrUnknownLeaderEpoch:              "ErrUnknownLeaderEpoch",
	sarama.ErrFencedInstancedId:               "ErrFencedInstancedId",
}

var refusals = []sarama.KError{
	sarama.ErrIllegalGeneration, sarama.ErrUnknownMemberId, sarama.ErrRebalanceInProgress,
	sarama.ErrFencedInstancedId,
}

// batch is what a claim has received, which waits for the end of its processing.
type batch struct {
	session   sarama.ConsumerGroupSession
	messages  []*sarama.ConsumerMessage
	processed chan struct{}
}

type guest struct {
	group    sarama.ConsumerGroup
	topic    string
	batches  chan batch
	errors   chan error
	returned []batch
	end      context.CancelFunc
	closing  chan struct{}
	ended    chan struct{}

	mutex      sync.Mutex
	session    sarama.ConsumerGroupSession
	rebalanced bool
}

func open(asked lines.Open) (lines.Guest, error) {
	if asked.Reset == "none" {
		return nil, &lines.Error{Name: "Unsupported", Message: "sarama has no reset none"}
	}
	sarama.Logger = log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds)
	config := sarama.NewConfig()
	config.ClientID = asked.Member
	config.Consumer.Return.Errors = true
	config.Consumer.Offsets.AutoCommit.Enable = !asked.IsExplicit()
	config.Consumer.Offsets.Initial = sarama.OffsetNewest
	if asked.Reset == "earliest" {
		config.Consumer.Offsets.Initial = sarama.OffsetOldest
	}
	if asked.Isolation == "read_committed" {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	duration := func(of *time.Duration) func(int) {
		return func(ms int) { *of = time.Duration(ms) * time.Millisecond }
	}
	err := asked.Set(map[string]func(int){
		"Consumer.Group.Session.Timeout":       duration(&config.Consumer.Group.Session.Timeout),
		"Consumer.Group.Heartbeat.Interval":    duration(&config.Consumer.Group.Heartbeat.Interval),
		"Consumer.Group.Rebalance.Timeout":     duration(&config.Consumer.Group.Rebalance.Timeout),
		"Consumer.Offsets.AutoCommit.Interval": duration(&config.Consumer.Offsets.AutoCommit.Interval),
		"Metadata.RefreshFrequency":            duration(&config.Metadata.RefreshFrequency),
		"Consumer.Group.ResetInvalidOffsets": func(on int) {
			config.Consumer.Group.ResetInvalidOffsets = on != 0
		},
	})
	if err != nil {
		return nil, err
	}
	group, err := sarama.NewConsumerGroup(asked.Brokers(), asked.Group, config)
	if err != nil {
		return nil, named(err)
	}
	running, end := context.WithCancel(context.Background())
	g := &guest{
		group: group, topic: asked.Topic, batches: make(chan batch), errors: make(chan error),
		end: end, closing: make(chan struct{}), ended: make(chan struct{}),
	}
	go func() {
		for err := range group.Errors() {
			g.report(err)
		}
	}()
	go func() {
		defer close(g.ended)
		for running.Err() == nil {
			if err := group.Consume(running, []string{asked.Topic}, g); err != nil {
				g.report(err)
			}
		}
	}()
	return g, nil
}

// report hands an error to the next poll or commit.
func (g *guest) report(err error) {
	select {
	case g.errors <- err:
	case <-g.closing:
	}
}

func (g *guest) Setup(session sarama.ConsumerGroupSession) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.session, g.rebalanced = session, true
	return nil
}

func (g *guest) Cleanup(sarama.ConsumerGroupSession) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.session = nil
	return nil
}

func (g *guest) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		received := batch{session, []*sarama.ConsumerMessage{message}, make(chan struct{})}
		for range min(len(claim.Messages()), lines.RecordsMax/4) {
			received.messages = append(received.messages, <-claim.Messages())
		}
		select {
		case g.batches <- received:
		case <-session.Context().Done():
			return nil
		}
		<-received.processed
	}
	return nil
}

// process marks what was returned, as an application does after it has processed it.
func (g *guest) process() {
	for _, one := range g.returned {
		for _, message := range one.messages {
			one.session.MarkMessage(message, "")
		}
		close(one.processed)
	}
	g.returned = nil
}

func (g *guest) Poll(timeout time.Duration) (lines.Polled, error) {
	g.process()
	var polled lines.Polled
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case err := <-g.errors:
		return polled, named(err)
	case first := <-g.batches:
		g.take(&polled, first)
	case <-timer.C:
	}
	for isMore := len(polled.Records) > 0; isMore && len(polled.Records) < lines.RecordsMax*3/4; {
		select {
		case next := <-g.batches:
			g.take(&polled, next)
		default:
			isMore = false
		}
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	polled.Assigned = []int32{}
	if g.session != nil {
		polled.Assigned = append(polled.Assigned, g.session.Claims()[g.topic]...)
	}
	polled.Rebalanced, g.rebalanced = g.rebalanced, false
	return polled, nil
}

func (g *guest) take(polled *lines.Polled, one batch) {
	g.returned = append(g.returned, one)
	for _, message := range one.messages {
		polled.Records = append(polled.Records, lines.Record{
			Partition: message.Partition, Offset: message.Offset, Value: string(message.Value),
		})
	}
}

func (g *guest) Commit() ([]lines.Position, error) {
	g.process()
	g.mutex.Lock()
	session := g.session
	g.mutex.Unlock()
	if session == nil {
		return nil, &lines.Error{Name: "NoSession", Message: "the group rebalances", Definite: true}
	}
	session.Commit()
	select {
	case err := <-g.errors:
		return nil, named(err)
	default:
		return nil, nil
	}
}

func (g *guest) Close() error {
	g.process()
	close(g.closing)
	g.end()
	<-g.ended
	if err := g.group.Close(); err != nil {
		return named(err)
	}
	return nil
}

func named(err error) *lines.Error {
	said := &lines.Error{Name: fmt.Sprintf("%T", err), Message: err.Error()}
	var ofPartition *sarama.ConsumerError
	if errors.As(err, &ofPartition) && ofPartition.Topic != "" {
		said.Partition = &ofPartition.Partition
	}
	var ofKafka sarama.KError
	if errors.As(err, &ofKafka) {
		said.Name = names[ofKafka]
		if said.Name == "" {
			said.Name = fmt.Sprintf("KError(%d)", int16(ofKafka))
		}
		said.Definite = slices.Contains(refusals, ofKafka)
	}
	return said
}

func main() { lines.Serve("github.com/IBM/sarama", open) }
