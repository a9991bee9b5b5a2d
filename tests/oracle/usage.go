package main

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
)

// usage counts what allocated claims hold. Admin access holds nothing; without consumable
// capacity a share holds the whole device.
func usage(claims []*resourceapi.ResourceClaim, withShares bool) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if result.AdminAccess != nil && *result.AdminAccess {
				continue
			}
			device := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			if result.ShareID == nil || !withShares {
				state.AllocatedDevices.Insert(device)
				continue
			}
			state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(device, result.ShareID))
			if result.ConsumedCapacity != nil {
				consumed := structured.NewDeviceConsumedCapacity(device, result.ConsumedCapacity)
				state.AggregatedCapacity.Insert(consumed)
			}
		}
	}
	return state
}
