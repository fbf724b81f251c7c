package main

import (
	"runtime"
	"syscall"
)

// peakRSS returns the largest resident size of the process so far in bytes, or 0 when it cannot be told.
func peakRSS() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return usage.Maxrss // bytes there, kilobytes elsewhere
	}
	return usage.Maxrss * 1024
}
