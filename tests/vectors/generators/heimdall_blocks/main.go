// Writes blocks of Heimdall's own consensus library: headers, sets and commits as a node's JSON, with their hashes, the
// bytes that validators sign, and whether the library accepts the commit. Usage: go mod tidy && go run . > heimdall-blocks.json
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/cometbft/cometbft/crypto/secp256k1"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	cmtversion "github.com/cometbft/cometbft/proto/tendermint/version"
	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	"github.com/cometbft/cometbft/types"
)

const chainID = "heimdallv2-80002"

// block says how a block is made.
type block struct {
	name   string
	height int64
	round  int32
	// Powers of the validators.
	powers []int64
	// Places in the set of those that are absent, and of those that vote for no block.
	absent, none map[int]bool
	// Nanoseconds in the time of the header.
	nanos int
	// Changes the commit afterwards.
	tamper func(*types.Commit)
}

type vector struct {
	Name           string          `json:"name"`
	Commit         json.RawMessage `json:"commit"`
	Validators     json.RawMessage `json:"validators"`
	HeaderHash     string          `json:"header_hash"`
	ValidatorsHash string          `json:"validators_hash"`
	SignBytes      []string        `json:"sign_bytes"`
	Accepted       bool            `json:"accepted"`
	Detail         string          `json:"detail"`
}

func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func (b block) make() vector {
	keys := map[string]secp256k1.PrivKey{}
	members := make([]*types.Validator, len(b.powers))
	for at, power := range b.powers {
		key := secp256k1.PrivKey(digest(fmt.Sprintf("%s, validator %d", b.name, at)))
		members[at] = types.NewValidator(key.PubKey(), power)
		keys[members[at].Address.String()] = key
	}
	set := types.NewValidatorSet(members)
	at := time.Date(2026, 6, 1, 12, 0, 0, b.nanos, time.UTC)
	last := types.BlockID{}
	if b.height > 1 {
		last.Hash = digest("last block")
		last.PartSetHeader = types.PartSetHeader{Total: 3, Hash: digest("last parts")}
	}
	header := &types.Header{
		Version:            cmtversion.Consensus{Block: 11, App: uint64(b.height % 2)},
		ChainID:            chainID,
		Height:             b.height,
		Time:               at,
		LastBlockID:        last,
		LastCommitHash:     digest("last commit"),
		DataHash:           digest("data"),
		ValidatorsHash:     set.Hash(),
		NextValidatorsHash: set.Hash(),
		ConsensusHash:      digest("consensus"),
		AppHash:            digest("state"),
		LastResultsHash:    digest("results"),
		EvidenceHash:       digest("evidence"),
		ProposerAddress:    set.Validators[0].Address,
	}
	id := types.BlockID{Hash: header.Hash(), PartSetHeader: types.PartSetHeader{Total: 1, Hash: digest("parts")}}
	commit := &types.Commit{Height: b.height, Round: b.round, BlockID: id}
	for place, member := range set.Validators {
		if b.absent[place] {
			commit.Signatures = append(commit.Signatures, types.NewCommitSigAbsent())
			continue
		}
		vote := &types.Vote{
			Type:             cmtproto.PrecommitType,
			Height:           b.height,
			Round:            b.round,
			BlockID:          id,
			Timestamp:        at.Add(time.Duration(place*place) * 1_234_567),
			ValidatorAddress: member.Address,
			ValidatorIndex:   int32(place),
		}
		flag := types.BlockIDFlagCommit
		if b.none[place] {
			vote.BlockID = types.BlockID{}
			flag = types.BlockIDFlagNil
		}
		signature := must(keys[member.Address.String()].Sign(types.VoteSignBytes(chainID, vote.ToProto())))
		commit.Signatures = append(commit.Signatures, types.CommitSig{
			BlockIDFlag:      flag,
			ValidatorAddress: member.Address,
			Timestamp:        vote.Timestamp,
			Signature:        signature,
		})
	}
	if b.tamper != nil {
		b.tamper(commit)
	}
	err := types.VerifyCommitLight(chainID, set, id, b.height, commit)
	found := vector{
		Name:           b.name,
		Commit:         must(cmtjson.Marshal(coretypes.NewResultCommit(header, commit, true))),
		Validators:     must(cmtjson.Marshal(&coretypes.ResultValidators{BlockHeight: b.height, Validators: set.Validators, Count: set.Size(), Total: set.Size()})),
		HeaderHash:     hex.EncodeToString(header.Hash()),
		ValidatorsHash: hex.EncodeToString(set.Hash()),
		Accepted:       err == nil,
	}
	if err != nil {
		found.Detail = err.Error()
	}
	for place := range commit.Signatures {
		if commit.Signatures[place].BlockIDFlag != types.BlockIDFlagCommit {
			found.SignBytes = append(found.SignBytes, "")
			continue
		}
		found.SignBytes = append(found.SignBytes, hex.EncodeToString(commit.VoteSignBytes(chainID, int32(place))))
	}
	return found
}

func places(all ...int) map[int]bool {
	found := map[int]bool{}
	for _, place := range all {
		found[place] = true
	}
	return found
}

func powers(count int) []int64 {
	found := make([]int64, count)
	for at := range found {
		found[at] = int64(1_000 + at*at*37)
	}
	return found
}

func main() {
	four := []int64{100, 100, 100, 100}
	blocks := []block{
		{name: "one validator, the first block", height: 1, powers: []int64{10}, nanos: 0},
		{name: "equal powers, all vote", height: 77, powers: four, nanos: 123_456_789},
		{name: "a later round", height: 78, round: 3, powers: four, nanos: 500_000_000},
		{name: "twenty-five validators, some absent, one for no block", height: 54_594_513, powers: powers(25), absent: places(20, 22), none: places(24), nanos: 7},
		{name: "more than two thirds", height: 79, powers: []int64{100, 100, 100, 99}, absent: places(3), nanos: 1},
		{name: "two thirds and no more", height: 80, powers: []int64{100, 100, 100}, absent: places(2), nanos: 1},
		{name: "a vote for no block too many", height: 81, powers: four, none: places(0, 1), nanos: 1},
		{name: "a vote at another time", height: 82, powers: four, nanos: 1, tamper: func(commit *types.Commit) {
			commit.Signatures[0].Timestamp = commit.Signatures[0].Timestamp.Add(1)
		}},
		{name: "signatures of each other", height: 83, powers: four, nanos: 1, tamper: func(commit *types.Commit) {
			first, second := &commit.Signatures[0], &commit.Signatures[1]
			first.Signature, second.Signature = second.Signature, first.Signature
		}},
		{name: "another round than was signed", height: 84, powers: four, nanos: 1, tamper: func(commit *types.Commit) { commit.Round = 1 }},
	}
	found := make([]vector, len(blocks))
	for at, each := range blocks {
		found[at] = each.make()
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	if err := out.Encode(map[string]any{
		"about":  "Blocks of github.com/0xPolygon/cometbft v0.3.8-polygon, the consensus library of Heimdall v2, made, signed and judged (VerifyCommitLight) by it",
		"source": "generated: tests/vectors/generators/heimdall_blocks (go mod tidy && go run .); keys are SHA-256 of texts",
		"blocks": found,
	}); err != nil {
		panic(err)
	}
}
