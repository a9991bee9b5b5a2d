package main

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// scenario is one line of input: a cluster, and the claims of one pod that wait for devices.
type scenario struct {
	id       string
	world    world
	claims   []*resourceapi.ResourceClaim
	nodes    []*corev1.Node
	features []string
}

// world holds the objects of a scenario by kind, each kind in the order of the line.
type world struct {
	nodes   []*corev1.Node
	classes map[string]*resourceapi.DeviceClass
	slices  []*resourceapi.ResourceSlice
	claims  []*resourceapi.ResourceClaim
	rules   []*resourceapi.DeviceTaintRule
}

// line is a scenario as JSON. A missing list differs from an empty one, hence the pointers.
type line struct {
	ID       string            `json:"id"`
	Objects  []json.RawMessage `json:"objects"`
	Claims   *[]string         `json:"claims"`
	Node     *string           `json:"node"`
	Features *[]string         `json:"features"`
}

// decodeScenario reads one line. The identity is known even where the rest is broken.
func decodeScenario(text []byte) (scenario, error) {
	var raw line
	if err := json.Unmarshal(text, &raw); err != nil {
		return scenario{id: raw.ID}, err
	}
	decoded := scenario{id: raw.ID, features: defaultFeatures}
	if raw.Features != nil {
		decoded.features = *raw.Features
	}
	var err error
	if decoded.world, err = decodeWorld(raw.Objects); err != nil {
		return decoded, err
	}
	if decoded.claims, err = decoded.world.claimsOfPod(raw.Claims); err != nil {
		return decoded, err
	}
	decoded.nodes, err = decoded.world.candidates(raw.Node)
	return decoded, err
}

func decodeWorld(objects []json.RawMessage) (world, error) {
	decoded := world{classes: map[string]*resourceapi.DeviceClass{}}
	for i, raw := range objects {
		if err := decoded.add(raw); err != nil {
			return decoded, fmt.Errorf("objects[%d]: %w", i, err)
		}
	}
	return decoded, nil
}

// add puts one object where it belongs. Kinds that the allocator never sees are left out.
func (w *world) add(raw json.RawMessage) error {
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "Node":
		return appendDecoded(raw, &w.nodes)
	case "ResourceSlice":
		return appendDecoded(raw, &w.slices)
	case "DeviceTaintRule":
		return appendDecoded(raw, &w.rules)
	case "ResourceClaim":
		if err := appendDecoded(raw, &w.claims); err != nil {
			return err
		}
		setDefaults(w.claims[len(w.claims)-1])
	case "DeviceClass":
		class := &resourceapi.DeviceClass{}
		if err := json.Unmarshal(raw, class); err != nil {
			return err
		}
		w.classes[class.Name] = class
	}
	return nil
}

func appendDecoded[T any](raw json.RawMessage, list *[]*T) error {
	object := new(T)
	if err := json.Unmarshal(raw, object); err != nil {
		return err
	}
	*list = append(*list, object)
	return nil
}

// claimsOfPod finds the named claims, or without names all that have no allocation yet.
func (w *world) claimsOfPod(names *[]string) ([]*resourceapi.ResourceClaim, error) {
	found := []*resourceapi.ResourceClaim{}
	if names == nil {
		for _, claim := range w.claims {
			if claim.Status.Allocation == nil {
				found = append(found, claim)
			}
		}
		return found, nil
	}
	byKey := map[string]*resourceapi.ResourceClaim{}
	for _, claim := range w.claims {
		byKey[keyOf(claim)] = claim
	}
	for _, name := range *names {
		claim, known := byKey[name]
		if !known {
			return nil, fmt.Errorf("claim %s is not among the objects", name)
		}
		found = append(found, claim)
	}
	return found, nil
}

// candidates lists the nodes to try, in the order of the objects.
func (w *world) candidates(name *string) ([]*corev1.Node, error) {
	if name == nil {
		return w.nodes, nil
	}
	for _, node := range w.nodes {
		if node.Name == *name {
			return []*corev1.Node{node}, nil
		}
	}
	return nil, fmt.Errorf("node %s is not among the objects", *name)
}

func keyOf(claim *resourceapi.ResourceClaim) string {
	return claim.Namespace + "/" + claim.Name
}
