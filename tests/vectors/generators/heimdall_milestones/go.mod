module heimdall_milestones

go 1.24

require (
	cosmossdk.io/log v1.4.1
	cosmossdk.io/store v1.1.1
	github.com/cosmos/cosmos-db v1.1.1
)
