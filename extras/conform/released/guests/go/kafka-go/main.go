// A guest around kafka-go's Reader with a GroupID (docs/guests.md).
//
// Automatic commits are those of ReadMessage, which commits each message before it returns it. The
// client shows no assignment, no positions and no leader epochs. StartOffset is where a group without
// a commit begins; an offset that is out of range is no reset: the Reader goes to the log start from
// below it, and above the log end it tries again, or reports an error with OffsetOutOfRangeError=1.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"slices"
	"strings"
	"time"

	"guests/lines"

	"github.com/segmentio/kafka-go"
)

var refusals = []kafka.Error{
	kafka.IllegalGeneration, kafka.UnknownMemberId, kafka.RebalanceInProgress,
}

// atHand is the wait for a message that is in the queue; one of an earlier generation is left out.
const atHand = 10 * time.Millisecond

type guest struct {
	reader     *kafka.Reader
	isExplicit bool
	last       map[int]kafka.Message
	kept       error // of a call after the first of a poll
}

func open(asked lines.Open) (lines.Guest, error) {
	if asked.Reset == "none" {
		return nil, &lines.Error{Name: "Unsupported", Message: "kafka-go has no reset none"}
	}
	logger := log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds)
	config := kafka.ReaderConfig{
		Brokers: asked.Brokers(), GroupID: asked.Group, Topic: asked.Topic,
		StartOffset: kafka.LastOffset,
		Dialer:      &kafka.Dialer{ClientID: asked.Member, Timeout: 10 * time.Second, DualStack: true},
		Logger:      logger, ErrorLogger: logger,
	}
	if asked.Reset == "earliest" {
		config.StartOffset = kafka.FirstOffset
	}
	if asked.Isolation == "read_committed" {
		config.IsolationLevel = kafka.ReadCommitted
	}
	duration := func(of *time.Duration) func(int) {
		return func(ms int) { *of = time.Duration(ms) * time.Millisecond }
	}
	err := asked.Set(map[string]func(int){
		"SessionTimeout":        duration(&config.SessionTimeout),
		"HeartbeatInterval":     duration(&config.HeartbeatInterval),
		"RebalanceTimeout":      duration(&config.RebalanceTimeout),
		"CommitInterval":        duration(&config.CommitInterval),
		"MaxWait":               duration(&config.MaxWait),
		"OffsetOutOfRangeError": func(on int) { config.OffsetOutOfRangeError = on != 0 },
	})
	if err == nil {
		err = config.Validate()
	}
	if err != nil {
		return nil, err
	}
	return &guest{
		reader: kafka.NewReader(config), isExplicit: asked.IsExplicit(), last: map[int]kafka.Message{},
	}, nil
}

func (g *guest) Poll(timeout time.Duration) (lines.Polled, error) {
	var polled lines.Polled
	if err := g.kept; err != nil {
		g.kept = nil
		return polled, named(err)
	}
	for wait := timeout; ; wait = atHand {
		message, err := g.read(wait)
		if errors.Is(err, context.DeadlineExceeded) {
			return polled, nil
		}
		if err != nil && len(polled.Records) == 0 {
			return polled, named(err)
		}
		if err != nil {
			g.kept = err
			return polled, nil
		}
		g.last[message.Partition] = message
		polled.Records = append(polled.Records, lines.Record{
			Partition: int32(message.Partition), Offset: message.Offset, Value: string(message.Value),
		})
		if g.reader.Stats().QueueLength == 0 || len(polled.Records) == lines.RecordsMax {
			return polled, nil
		}
	}
}

// read is FetchMessage, and for automatic commits ReadMessage: that is FetchMessage, then
// CommitMessages. With one context for both, a wait that ends while it commits would lose the message.
func (g *guest) read(wait time.Duration) (kafka.Message, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	message, err := g.reader.FetchMessage(ctx)
	if err == nil && !g.isExplicit {
		err = g.reader.CommitMessages(context.Background(), message)
	}
	return message, err
}

func (g *guest) Commit() ([]lines.Position, error) {
	committed, messages := []lines.Position{}, []kafka.Message{}
	for _, one := range g.last {
		messages = append(messages, one)
		committed = append(committed, lines.Position{
			Partition: int32(one.Partition), Offset: one.Offset + 1,
		})
	}
	if len(messages) > 0 {
		if err := g.reader.CommitMessages(context.Background(), messages...); err != nil {
			return nil, named(err)
		}
	}
	clear(g.last)
	return committed, nil
}

func (g *guest) Close() error { return g.reader.Close() }

func named(err error) *lines.Error {
	said := &lines.Error{Name: lines.TypeName(err), Message: err.Error()}
	var ofKafka kafka.Error
	if errors.As(err, &ofKafka) {
		said.Name = strings.ReplaceAll(ofKafka.Title(), " ", "")
		said.Definite = slices.Contains(refusals, ofKafka)
	}
	return said
}

func main() { lines.Serve("github.com/segmentio/kafka-go", open) }
