package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
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

// pass is one walk over a stream of equal pods.
type pass struct {
	stage
	claim       *resourceapi.ResourceClaim
	pods        int
	limit       time.Duration
	expressions *cel.Cache // compiled expressions to use, or nil to start without any
	keepsOne    bool       // one allocator for all pods, made before the clock starts
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

func newExpressions() *cel.Cache {
	return cel.NewCache(expressionCacheSize, cel.Features{EnableConsumableCapacity: true})
}

// best repeats the stream for the budget, at least once, and returns the shortest time of
// one pod with the answers, which are the same each time.
func (p pass) best(budget time.Duration) (float64, []benchPod, error) {
	shortest, spent := time.Duration(-1), time.Duration(0)
	var pods []benchPod
	for shortest < 0 || spent+shortest < budget {
		took, placed, err := p.once()
		if err != nil {
			return 0, nil, err
		}
		if shortest < 0 || took < shortest {
			shortest = took
		}
		spent += took
		pods = placed
	}
	return float64(shortest.Nanoseconds()) / float64(p.pods), pods, nil
}

// once places all pods. Only the allocator's own work is timed.
func (p pass) once() (time.Duration, []benchPod, error) {
	features := featuresOf(defaultFeatures)
	state := usage(p.world.claims, features.ConsumableCapacity)
	ctx, cancel := context.WithTimeout(context.Background(), p.limit)
	defer cancel()
	newAllocator := func() (structured.Allocator, error) {
		if p.expressions == nil {
			p.expressions = newExpressions() // of this copy of p, so gone with it
		}
		return structured.NewAllocator(ctx, features, state, classLister(p.world.classes), p.slices, p.expressions)
	}
	if p.keepsOne {
		kept, err := newAllocator()
		if err != nil {
			return 0, nil, err
		}
		newAllocator = func() (structured.Allocator, error) { return kept, nil }
		// The first search fills what the allocator keeps.
		if _, err = placeOn(ctx, kept, p.world.nodes, p.claim); err != nil {
			return 0, nil, err
		}
	}
	took := time.Duration(0)
	pods := make([]benchPod, 0, p.pods)
	for range p.pods {
		start := time.Now()
		allocator, err := newAllocator()
		if err != nil {
			return 0, nil, err
		}
		placed, err := placeOn(ctx, allocator, p.world.nodes, p.claim)
		took += time.Since(start)
		if err != nil {
			return 0, nil, err
		}
		pods = append(pods, podOf(placed))
		hold(state, placed)
	}
	return took, pods, nil
}

// placeOn tries the nodes in order; it returns nil if no node fits.
func placeOn(ctx context.Context, allocator structured.Allocator, nodes []*corev1.Node, claim *resourceapi.ResourceClaim) (*placement, error) {
	claims := []*resourceapi.ResourceClaim{claim}
	for _, node := range nodes {
		results, err := allocator.Allocate(ctx, node, claims)
		if err != nil && !errors.Is(err, structured.ErrFailedAllocationOnNode) {
			return nil, err
		}
		if results != nil {
			return &placement{node, results}, nil
		}
	}
	return nil, nil
}

// hold counts what a pod got as in use for the pods after it.
func hold(state structured.AllocatedState, placed *placement) {
	if placed == nil {
		return
	}
	claim := &resourceapi.ResourceClaim{}
	claim.Status.Allocation = &placed.results[0]
	more := usage([]*resourceapi.ResourceClaim{claim}, true)
	for device := range more.AllocatedDevices {
		state.AllocatedDevices.Insert(device)
	}
	for share := range more.AllocatedSharedDeviceIDs {
		state.AllocatedSharedDeviceIDs.Insert(share)
	}
	for device, consumed := range more.AggregatedCapacity {
		state.AggregatedCapacity.Insert(structured.DeviceConsumedCapacity{DeviceID: device, ConsumedCapacity: consumed})
	}
}

// podOf writes node and devices as the benchmark compares them; share IDs are random.
func podOf(placed *placement) benchPod {
	if placed == nil {
		return benchPod{Devices: []string{}}
	}
	pod := benchPod{Node: placed.node.Name, Devices: []string{}}
	for _, result := range placed.results {
		for _, device := range result.Devices.Results {
			var text strings.Builder
			text.WriteString(device.Pool + "/" + device.Device)
			for _, name := range slices.Sorted(maps.Keys(device.ConsumedCapacity)) {
				amount := device.ConsumedCapacity[name]
				fmt.Fprintf(&text, " %s=%s", name, amount.String())
			}
			pod.Devices = append(pod.Devices, text.String())
		}
	}
	return pod
}
