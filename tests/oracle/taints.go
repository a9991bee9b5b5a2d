package main

import resourceapi "k8s.io/api/resource/v1"

// taintedSlices appends to each device the taints of the rules that select it, as the tracker
// of the scheduler does. A rule without a selector selects nothing.
func taintedSlices(w world) []*resourceapi.ResourceSlice {
	slices := make([]*resourceapi.ResourceSlice, len(w.slices))
	for i, published := range w.slices {
		slices[i] = published.DeepCopy()
		devices := slices[i].Spec.Devices
		for j := range devices {
			for _, rule := range w.rules {
				if selects(rule.Spec.DeviceSelector, &published.Spec, devices[j].Name) {
					devices[j].Taints = append(devices[j].Taints, rule.Spec.Taint)
				}
			}
		}
	}
	return slices
}

func selects(selector *resourceapi.DeviceTaintSelector, spec *resourceapi.ResourceSliceSpec, device string) bool {
	return selector != nil &&
		isAnyOr(selector.Driver, spec.Driver) &&
		isAnyOr(selector.Pool, spec.Pool.Name) &&
		isAnyOr(selector.Device, device)
}

func isAnyOr(wanted *string, name string) bool {
	return wanted == nil || *wanted == name
}
