package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	resourceapi "k8s.io/api/resource/v1"
)

// benchLine is one line of input: either a world to keep, or a pod to place in it so many
// times in a row, each one holding what it got.
type benchLine struct {
	World   string            `json:"world"`
	Objects []json.RawMessage `json:"objects"`
	ID      string            `json:"id"`
	Claim   json.RawMessage   `json:"claim"`
	Pods    int               `json:"pods"`
	// Seconds is how long to repeat a measurement, nothing but the first one if 0.
	Seconds float64 `json:"seconds"`
	// LimitSeconds is how long one stream may take.
	LimitSeconds float64 `json:"limitSeconds"`
}

// benchAnswer is one line of output. Times are those of the fastest repetition, for one pod.
type benchAnswer struct {
	ID   string     `json:"id"`
	Pods []benchPod `json:"pods"`
	// FirstNanoseconds: NewAllocator and Allocate the first time in this process, which makes
	// the CEL environment if this is the first line. Measured once.
	FirstNanoseconds float64 `json:"firstNanoseconds"`
	// ColdNanoseconds: the same with that environment, but with no expression compiled.
	ColdNanoseconds float64 `json:"coldNanoseconds"`
	// PodNanoseconds: the same with expressions compiled, as the scheduler does for each pod.
	PodNanoseconds float64 `json:"podNanoseconds"`
	// WarmNanoseconds: Allocate alone, on an allocator that answered before.
	WarmNanoseconds float64 `json:"warmNanoseconds"`
	// IsUnfinished: the limit ended the search, so that there is no answer to compare.
	IsUnfinished bool `json:"isUnfinished"`
}

// benchPod is where one pod went; no node if it fits nowhere.
type benchPod struct {
	Node    string   `json:"node"`
	Devices []string `json:"devices"`
}

// bench times upstream's allocator without decoding, usage and taint rules. Worlds are large,
// so only the latest is kept.
func bench(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	answers := json.NewEncoder(out)
	var current stage
	for lines.Scan() {
		var line benchLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return err
		}
		if line.ID == "" {
			kept, err := decodeWorld(line.Objects)
			if err != nil {
				return fmt.Errorf("world %s: %w", line.World, err)
			}
			current = stage{name: line.World, world: kept, slices: taintedSlices(kept)}
			continue
		}
		if line.World != current.name {
			return fmt.Errorf("%s: expected the world %s, got %s", line.ID, current.name, line.World)
		}
		answer, err := current.measure(line)
		if err != nil {
			return fmt.Errorf("%s: %w", line.ID, err)
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// stage is a world made ready for any number of measurements.
type stage struct {
	name   string
	world  world
	slices []*resourceapi.ResourceSlice
}

func (s stage) measure(line benchLine) (benchAnswer, error) {
	claim := &resourceapi.ResourceClaim{}
	if err := json.Unmarshal(line.Claim, claim); err != nil {
		return benchAnswer{}, err
	}
	setDefaults(claim)
	limit := time.Duration(line.LimitSeconds * float64(time.Second))
	budget := time.Duration(line.Seconds * float64(time.Second))
	one := pass{stage: s, claim: claim, pods: line.Pods, limit: limit}
	answer := benchAnswer{ID: line.ID, Pods: []benchPod{}}

	var err error
	answer.FirstNanoseconds, answer.Pods, err = one.best(0)
	if errors.Is(err, context.DeadlineExceeded) {
		answer.IsUnfinished = true
		return answer, nil
	}
	if err != nil || budget == 0 {
		return answer, err
	}
	if answer.ColdNanoseconds, _, err = one.best(budget); err != nil {
		return answer, err
	}
	one.expressions = newExpressions()
	if answer.PodNanoseconds, _, err = one.best(budget); err != nil {
		return answer, err
	}
	one.keepsOne = true
	answer.WarmNanoseconds, _, err = one.best(budget)
	return answer, err
}
