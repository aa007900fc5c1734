// Holds a pod's namespaces: it waits for a signal to end, and reaps orphaned processes.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for signal := range signals {
		if signal != syscall.SIGCHLD {
			return
		}
		for {
			if child, _ := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); child <= 0 {
				break
			}
		}
	}
}
