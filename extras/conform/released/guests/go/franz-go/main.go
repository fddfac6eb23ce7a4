// A guest around franz-go's kgo.Client (docs/guests.md).
//
// The client shows no position: it has where records that were polled end, and not where it fetches
// next. Its automatic commits at a revocation are those of its own callback, so this guest sets one
// only if commits are explicit, and shows no assignment otherwise.
package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"guests/lines"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// starts is where a group without a commit begins, resets what follows an offset that is out of range.
var (
	starts = map[string]kgo.Offset{
		"earliest": kgo.NewOffset().AtStart(),
		"latest":   kgo.NewOffset().AtEnd(),
		"none":     kgo.NewOffset().AtCommitted(),
	}
	resets = map[string]kgo.Offset{
		"earliest": kgo.NewOffset().AtStart(),
		"latest":   kgo.NewOffset().AtEnd(),
		"none":     kgo.NoResetOffset(),
	}
)

// ofProtocol has what is set for the protocol of the group: consumer.go for KIP-848's.
var ofProtocol []kgo.Opt

var refusals = []error{
	kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.RebalanceInProgress, kerr.FencedInstanceID,
	kerr.StaleMemberEpoch,
}

type guest struct {
	client *kgo.Client
	topic  string
	errors []kgo.FetchError
	kept   []*kgo.Record // polled together with errors, and not returned yet
	last   map[int32]*kgo.Record

	mutex      sync.Mutex
	shown      bool
	assigned   []int32
	rebalanced bool
}

func open(asked lines.Open) (lines.Guest, error) {
	g := &guest{topic: asked.Topic, last: map[int32]*kgo.Record{}, shown: asked.IsExplicit()}
	isolation := kgo.ReadUncommitted()
	if asked.Isolation == "read_committed" {
		isolation = kgo.ReadCommitted()
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(asked.Brokers()...),
		kgo.ClientID(asked.Member),
		kgo.ConsumerGroup(asked.Group),
		kgo.ConsumeTopics(asked.Topic),
		kgo.ConsumeStartOffset(starts[asked.Reset]),
		kgo.ConsumeResetOffset(resets[asked.Reset]),
		kgo.FetchIsolationLevel(isolation),
		kgo.OnPartitionsAssigned(g.onAssigned),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, now)),
	}
	options = append(options, ofProtocol...)
	if asked.IsExplicit() {
		options = append(options, kgo.DisableAutoCommit(), kgo.OnPartitionsRevoked(g.onRevoked))
	}
	duration := func(option func(time.Duration) kgo.GroupOpt) func(int) {
		return func(ms int) { options = append(options, option(time.Duration(ms)*time.Millisecond)) }
	}
	err := asked.Set(map[string]func(int){
		"SessionTimeout":     duration(kgo.SessionTimeout),
		"HeartbeatInterval":  duration(kgo.HeartbeatInterval),
		"RebalanceTimeout":   duration(kgo.RebalanceTimeout),
		"AutoCommitInterval": duration(kgo.AutoCommitInterval),
		"MetadataMaxAge": func(ms int) {
			options = append(options, kgo.MetadataMaxAge(time.Duration(ms)*time.Millisecond))
		},
		"RequireStableFetchOffsets": func(int) { options = append(options, kgo.RequireStableFetchOffsets()) },
	})
	if err != nil {
		return nil, err
	}
	g.client, err = kgo.NewClient(options...)
	return g, err
}

func (g *guest) Poll(timeout time.Duration) (lines.Polled, error) {
	if len(g.errors) == 0 && len(g.kept) == 0 {
		g.poll(timeout)
	}
	if len(g.errors) > 0 {
		first := g.errors[0]
		g.errors = g.errors[1:]
		if first.Topic == "" {
			return lines.Polled{}, named(first.Err, nil) // of the group
		}
		return lines.Polled{}, named(first.Err, &first.Partition)
	}
	var polled lines.Polled
	for _, one := range g.kept {
		epoch := one.LeaderEpoch
		polled.Records = append(polled.Records, lines.Record{
			Partition: one.Partition, Offset: one.Offset, Epoch: &epoch, Value: string(one.Value),
		})
		g.last[one.Partition] = one
	}
	g.kept = nil
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.shown {
		polled.Assigned = append([]int32{}, g.assigned...)
	}
	polled.Rebalanced, g.rebalanced = g.rebalanced, false
	return polled, nil
}

func (g *guest) poll(timeout time.Duration) {
	var fetches kgo.Fetches
	if timeout == 0 {
		fetches = g.client.PollRecords(nil, lines.RecordsMax) // what is there already
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		fetches = g.client.PollRecords(ctx, lines.RecordsMax)
	}
	for _, one := range fetches.Errors() {
		if !errors.Is(one.Err, context.DeadlineExceeded) || one.Topic != "" {
			g.errors = append(g.errors, one)
		}
	}
	g.kept = fetches.Records()
}

// Commit commits what was returned. Records that are kept belong to the client's own uncommitted
// offsets already, so they are left out by naming the others.
func (g *guest) Commit() ([]lines.Position, error) {
	committed := []lines.Position{}
	commit := g.client.CommitUncommittedOffsets
	if len(g.kept) > 0 {
		commit = func(ctx context.Context) error {
			var last []*kgo.Record
			for _, one := range g.last {
				last = append(last, one)
			}
			return g.client.CommitRecords(ctx, last...)
		}
		for partition, one := range g.last {
			committed = append(committed, position(partition, one.Offset+1, one.LeaderEpoch))
		}
	} else {
		for partition, at := range g.client.UncommittedOffsets()[g.topic] {
			committed = append(committed, position(partition, at.Offset, at.Epoch))
		}
	}
	if err := commit(context.Background()); err != nil {
		return nil, named(err, nil)
	}
	return committed, nil
}

func (g *guest) Close() error {
	g.client.Close()
	return nil
}

func (g *guest) onAssigned(_ context.Context, _ *kgo.Client, added map[string][]int32) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.assigned = append(g.assigned, added[g.topic]...)
	slices.Sort(g.assigned)
	g.rebalanced = g.rebalanced || len(added[g.topic]) > 0
}

func (g *guest) onRevoked(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.assigned = slices.DeleteFunc(g.assigned, func(partition int32) bool {
		return slices.Contains(lost[g.topic], partition)
	})
}

func position(partition int32, offset int64, epoch int32) lines.Position {
	return lines.Position{Partition: partition, Offset: offset, Epoch: &epoch}
}

// named gives an error the name that Kafka's protocol or the client's type has.
func named(err error, partition *int32) *lines.Error {
	said := &lines.Error{Name: lines.TypeName(err), Message: err.Error(), Partition: partition}
	var ofKafka *kerr.Error
	var loss *kgo.ErrDataLoss
	var session *kgo.ErrGroupSession
	switch {
	case errors.As(err, &loss):
		said.Name, said.Offset = "ErrDataLoss", &loss.ConsumedTo
	case errors.As(err, &session):
		said.Name = "ErrGroupSession"
	case errors.As(err, &ofKafka):
		said.Name, said.Definite = ofKafka.Message, slices.ContainsFunc(refusals, func(one error) bool {
			return errors.Is(err, one)
		})
	}
	return said
}

func now() string { return time.Now().UTC().Format("15:04:05.000 ") }

func main() { lines.Serve("github.com/twmb/franz-go", open) }
