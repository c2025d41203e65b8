package registry_test

import "fmt"

const asPusher, asWeigher = "TEST_AS_PUSHER", "TEST_AS_WEIGHER"

func pushUntilKilled(string) { fmt.Println() }
func weigh(string)           { fmt.Println() }
