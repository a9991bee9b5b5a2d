package main

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// searchBudget is how long one node may be searched. The scheduler allows ten seconds, and a
// scenario that is not hard needs less than a millisecond.
const searchBudget = 300 * time.Millisecond

// expressionCacheSize is a few times what the scheduler keeps.
const expressionCacheSize = 1000

// expressions is shared by all scenarios, as the scheduler's lives as long as its process.
// The gates only matter where the API server admits an expression, so all are on.
var expressions = cel.NewCache(expressionCacheSize, cel.Features{
	EnableConsumableCapacity: true,
	EnableListTypeAttributes: true,
})

func init() {
	// The variant "stable" tries pools in no defined order; the scheduler runs it only with
	// gates switched off that are on by default.
	structured.EnableAllocators("incubating", "experimental")
}

// placement is the node that fits, if any does, and what each claim gets there.
type placement struct {
	node    *corev1.Node
	results []resourceapi.AllocationResult

	// undecided are nodes before it whose search ran out of time.
	undecided []string
}

// firstFit tries the nodes in order. It returns an error if the input is broken.
//
// Each node has an allocator of its own. One allocator remembers what the first node saw of a
// pool's counters and tells it to nodes that see another generation of the pool; the scheduler
// asks its nodes in parallel, so nobody can say which node that is.
func firstFit(s scenario) (placement, error) {
	var placed placement
	features := featuresOf(s.features)
	state := usage(s.world.claims, features.ConsumableCapacity)
	classes := classLister(s.world.classes)
	slices := taintedSlices(s.world)
	for _, node := range s.nodes {
		allocator, err := structured.NewAllocator(context.Background(), features, state, classes, slices, expressions)
		if err != nil {
			return placed, err
		}
		results, err := allocateOn(allocator, node, s.claims)
		switch {
		case err == nil && results != nil:
			placed.node, placed.results = node, results
			return placed, nil
		case errors.Is(err, context.DeadlineExceeded):
			placed.undecided = append(placed.undecided, node.Name)
		case err != nil && !errors.Is(err, structured.ErrFailedAllocationOnNode):
			return placed, err
		}
	}
	return placed, nil
}

func allocateOn(allocator structured.Allocator, node *corev1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	ctx, cancel := context.WithTimeout(context.Background(), searchBudget)
	defer cancel()
	return allocator.Allocate(ctx, node, claims)
}
