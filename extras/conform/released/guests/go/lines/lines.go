// Package lines speaks the guest's protocol (docs/guests.md): one request a line on standard input,
// one response a line on standard output.
package lines

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime/debug"
	"strings"
	"time"
)

// RecordsMax is how many records a poll returns at most.
const RecordsMax = 1000

// Open is the first request.
type Open struct {
	Bootstrap string         `json:"bootstrap"`
	Group     string         `json:"group"`
	Member    string         `json:"member"`
	Topic     string         `json:"topic"`
	Reset     string         `json:"reset"`
	Isolation string         `json:"isolation"`
	Commit    string         `json:"commit"`
	Settings  map[string]any `json:"settings"`
}

// Brokers are the addresses of the bootstrap.
func (o Open) Brokers() []string { return strings.Split(o.Bootstrap, ",") }

// IsExplicit is whether commits are made when they are requested only.
func (o Open) IsExplicit() bool { return o.Commit == "explicit" }

// Set applies the settings; known has what to do with each, which gets its value if that is an integer.
func (o Open) Set(known map[string]func(int)) error {
	for name, value := range o.Settings {
		number, isNumber := value.(float64)
		set, isKnown := known[name]
		if !isKnown || !isNumber {
			return &Error{Name: "UnknownSetting", Message: fmt.Sprintf("%s = %v", name, value)}
		}
		set(int(number))
	}
	return nil
}

// Record is one that a poll returned. Epoch is that of its batch, nil if the client does not show it.
type Record struct {
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Epoch     *int32 `json:"epoch,omitempty"`
	Value     string `json:"value"`
}

// Position is an offset in a partition, with its leader epoch if the client shows it.
type Position struct {
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Epoch     *int32 `json:"epoch,omitempty"`
}

// Polled is what one poll returned. What is nil is not shown by the client.
type Polled struct {
	Records    []Record   `json:"records"`
	Assigned   []int32    `json:"assigned,omitzero"`
	Positions  []Position `json:"positions,omitzero"`
	Rebalanced bool       `json:"rebalanced,omitempty"`
}

// Error is one that the client reported to its application.
type Error struct {
	Name      string `json:"name"`
	Message   string `json:"message"`
	Partition *int32 `json:"partition,omitempty"`
	Offset    *int64 `json:"offset,omitempty"`
	// Definite is whether a commit surely was not stored.
	Definite bool `json:"definite,omitempty"`
}

func (e *Error) Error() string { return e.Name + ": " + e.Message }

// Guest is one consumer. Commit returns what was committed, nil if the client does not show it.
type Guest interface {
	Poll(timeout time.Duration) (Polled, error)
	Commit() ([]Position, error)
	Close() error
}

type request struct {
	ID int64  `json:"id"`
	Do string `json:"do"`
	Open
	TimeoutMs int64 `json:"timeout_ms"`
}

type response struct {
	ID      int64  `json:"id"`
	Client  string `json:"client,omitempty"`
	Version string `json:"version,omitempty"`
	*Polled
	Committed []Position `json:"committed,omitzero"`
	Error     *Error     `json:"error,omitempty"`
}

// Serve responds to requests until close, or until the end of the input.
//
// The module is the client's, whose version is that of which this program was built. The major version
// at the end of its path is no part of the client's name.
func Serve(module string, open func(Open) (Guest, error)) {
	input, output := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	var guest Guest
	for {
		line, err := input.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		var asked request
		if err == nil {
			err = json.Unmarshal(line, &asked)
		}
		if err != nil {
			fail(err)
		}
		said := response{ID: asked.ID}
		switch {
		case asked.Do == "open":
			said.Client, said.Version = path.Base(strings.TrimSuffix(module, "/v2")), version(module)
			guest, err = open(asked.Open)
		case guest == nil:
			err = &Error{Name: "NotOpen", Message: asked.Do}
		case asked.Do == "poll":
			var polled Polled
			polled, err = guest.Poll(time.Duration(asked.TimeoutMs) * time.Millisecond)
			if polled.Records == nil {
				polled.Records = []Record{}
			}
			said.Polled = &polled
		case asked.Do == "commit":
			said.Committed, err = guest.Commit()
		case asked.Do == "close":
			err = guest.Close()
		default:
			err = &Error{Name: "UnknownRequest", Message: asked.Do}
		}
		if err != nil {
			said = response{ID: asked.ID, Error: named(err)}
		}
		if err := output.Encode(said); err != nil {
			fail(err)
		}
		if asked.Do == "close" {
			return
		}
	}
}

func named(err error) *Error {
	if known := (*Error)(nil); errors.As(err, &known) {
		return known
	}
	return &Error{Name: TypeName(err), Message: err.Error()}
}

// TypeName returns the type of an error, or of the one that fmt.Errorf wrapped.
func TypeName(err error) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", err), "*")
	if inner := errors.Unwrap(err); inner != nil && name == "fmt.wrapError" {
		return TypeName(inner)
	}
	return name
}

func version(module string) string {
	if built, ok := debug.ReadBuildInfo(); ok {
		for _, one := range built.Deps {
			if one.Path == module {
				return strings.TrimPrefix(one.Version, "v")
			}
		}
	}
	return ""
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
