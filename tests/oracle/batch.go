package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	resourceapi "k8s.io/api/resource/v1"
)

// longestLine bounds the memory that one scenario may take.
const longestLine = 256 << 20

// answer is one line of output. Undecided names nodes that ran out of time before the answer.
type answer struct {
	ID          string                                  `json:"id"`
	Outcome     string                                  `json:"outcome"`
	Node        string                                  `json:"node,omitempty"`
	Allocations map[string]resourceapi.AllocationResult `json:"allocations,omitzero"`
	Error       string                                  `json:"error,omitempty"`
	Undecided   []string                                `json:"undecided,omitempty"`
	Micros      int64                                   `json:"micros"`
}

// batch answers scenarios, one a line, in order. A broken line gets an answer, too.
func batch(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		if err := answers.Encode(answerTo(lines.Bytes())); err != nil {
			return err
		}
	}
	return lines.Err()
}

// answerTo answers one line. Objects that the API server would have refused can make upstream
// panic; that is an error of this line alone.
func answerTo(text []byte) (reply answer) {
	defer func() {
		if reason := recover(); reason != nil {
			reply.Outcome, reply.Error = "error", fmt.Sprintf("panic: %v", reason)
		}
	}()
	decoded, err := decodeScenario(text)
	if err != nil {
		return answer{ID: decoded.id, Outcome: "error", Error: err.Error()}
	}
	reply.ID = decoded.id
	start := time.Now()
	placed, err := firstFit(decoded)
	reply.Micros = time.Since(start).Microseconds()
	reply.Undecided = placed.undecided
	switch {
	case err != nil:
		reply.Outcome, reply.Error = "error", err.Error()
	case placed.node == nil && len(placed.undecided) > 0:
		reply.Outcome = "budget"
	case placed.node == nil:
		reply.Outcome = "unallocatable"
	default:
		reply.Outcome, reply.Node = "allocated", placed.node.Name
		reply.Allocations = map[string]resourceapi.AllocationResult{}
		for i, claim := range decoded.claims {
			reply.Allocations[keyOf(claim)] = placed.results[i]
		}
	}
	return reply
}
