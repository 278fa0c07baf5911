// Writes proofs of milestones from the state store of Heimdall's application framework. Usage: go mod tidy && go run . >
// heimdall-milestones.json
package main

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"cosmossdk.io/log"
	"cosmossdk.io/store/metrics"
	"cosmossdk.io/store/rootmulti"
	"cosmossdk.io/store/types"
	dbm "github.com/cosmos/cosmos-db"
)

type proven struct {
	Number uint64   `json:"number"`
	Key    string   `json:"key"`
	Value  string   `json:"value"`
	Root   string   `json:"root"`
	Proofs []string `json:"proofs"`
}

func field(number byte, value []byte) []byte {
	return append([]byte{number<<3 | 2, byte(len(value))}, value...)
}

func varint(number byte, value uint64) []byte {
	return binary.AppendUvarint([]byte{number << 3}, value)
}

// milestone is the Protobuf form of a milestone with that number.
func milestone(number uint64) []byte {
	hash := make([]byte, 32)
	binary.BigEndian.PutUint64(hash[24:], number*7919)
	var value []byte
	value = append(value, field(1, []byte("0x02f615e95563ef16f10354dba9e584e58d2d4314"))...)
	value = append(value, varint(2, number*12+1)...)
	value = append(value, varint(3, number*12+12)...)
	value = append(value, field(4, hash)...)
	value = append(value, field(5, []byte("80002"))...)
	value = append(value, field(6, []byte(fmt.Sprintf("milestone %d", number)))...)
	value = append(value, varint(7, 1_780_000_000+number)...)
	return append(value, varint(8, number*31)...)
}

func main() {
	store := rootmulti.NewStore(dbm.NewMemDB(), log.NewNopLogger(), metrics.NewNoOpMetrics())
	keys := map[string]*types.KVStoreKey{}
	for _, name := range []string{"auth", "bank", "bor", "checkpoint", "clerk", "milestone", "stake", "topup"} {
		keys[name] = types.NewKVStoreKey(name)
		store.MountStoreWithDB(keys[name], types.StoreTypeIAVL, nil)
	}
	if err := store.LoadLatestVersion(); err != nil {
		panic(err)
	}
	key := func(number uint64) []byte { return binary.BigEndian.AppendUint64([]byte{0x81}, number) }
	var found []proven
	count := uint64(0)
	for _, size := range []uint64{1, 2, 7, 40, 300} {
		for count < size {
			count++
			milestones := store.GetKVStore(keys["milestone"])
			milestones.Set([]byte{0x80}, []byte{8, 10})
			milestones.Set(key(count), milestone(count))
			milestones.Set([]byte{0x83}, binary.BigEndian.AppendUint64(nil, count))
			store.GetKVStore(keys["bank"]).Set(key(count), []byte("something else"))
			store.Commit()
		}
		for _, number := range []uint64{1, (size + 1) / 2, size} {
			answer, err := store.Query(&types.RequestQuery{Path: "/milestone/key", Data: key(number), Height: store.LatestVersion(), Prove: true})
			if err != nil {
				panic(err)
			}
			one := proven{
				Number: number,
				Key:    hex.EncodeToString(answer.Key),
				Value:  hex.EncodeToString(answer.Value),
				Root:   hex.EncodeToString(store.LastCommitID().Hash),
			}
			for _, op := range answer.ProofOps.Ops {
				one.Proofs = append(one.Proofs, hex.EncodeToString(op.Data))
			}
			found = append(found, one)
		}
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	if err := out.Encode(map[string]any{
		"about":  "Milestones proved by the state store of the Cosmos SDK (cosmossdk.io/store), whose IAVL trees Heimdall v2 keeps its state in",
		"source": "generated: tests/vectors/generators/heimdall_milestones (go mod tidy && go run .)",
		"proofs": found,
	}); err != nil {
		panic(err)
	}
}
