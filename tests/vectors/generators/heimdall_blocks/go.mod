module heimdall_blocks

go 1.24

require github.com/cometbft/cometbft v0.38.21

replace github.com/cometbft/cometbft => github.com/0xPolygon/cometbft v0.3.8-polygon

replace github.com/cometbft/cometbft-db => github.com/0xPolygon/cometbft-db v0.14.1-polygon
