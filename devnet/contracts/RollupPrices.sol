// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// What rollups charge for publishing transactions on their L1, at the addresses and with the functions of the real
// ones. Anybody may set the prices; the nodes of the devnet charge for execution only.

// Predeploy of the OP stack at 0x420000000000000000000000000000000000000F, with the formula of Ecotone for data and
// that of Isthmus for the operator (ethereum-optimism/optimism: packages/contracts-bedrock/src/L2/GasPriceOracle.sol;
// ethereum-optimism/specs: specs/protocol/isthmus/exec-engine.md).
contract GasPriceOracle {
    uint256 public l1BaseFee;
    uint256 public blobBaseFee;
    uint32 public baseFeeScalar;
    uint32 public blobBaseFeeScalar;
    uint32 public operatorFeeScalar;
    uint64 public operatorFeeConstant;

    // Bytes of a signature, none of them zero, which is not among those asked about.
    uint256 private constant SIGNATURE_GAS = 68 * 16;

    function setL1Prices(uint256 l1BaseFee_, uint256 blobBaseFee_, uint32 baseFeeScalar_, uint32 blobBaseFeeScalar_)
        external
    {
        l1BaseFee = l1BaseFee_;
        blobBaseFee = blobBaseFee_;
        baseFeeScalar = baseFeeScalar_;
        blobBaseFeeScalar = blobBaseFeeScalar_;
    }

    function setOperatorFee(uint32 scalar, uint64 constant_) external {
        operatorFeeScalar = scalar;
        operatorFeeConstant = constant_;
    }

    function gasPrice() external view returns (uint256) {
        return block.basefee;
    }

    function getL1Fee(bytes calldata unsignedTransaction) external view returns (uint256) {
        uint256 gas = SIGNATURE_GAS;
        for (uint256 i = 0; i < unsignedTransaction.length; i++) {
            gas += unsignedTransaction[i] == 0 ? 4 : 16;
        }
        return gas * (16 * baseFeeScalar * l1BaseFee + blobBaseFeeScalar * blobBaseFee) / 16e6;
    }

    function getOperatorFee(uint256 gasUsed) external view returns (uint256) {
        return gasUsed * operatorFeeScalar / 1e6 + operatorFeeConstant;
    }
}

// Precompile of Arbitrum at 0x000000000000000000000000000000000000006c
// (OffchainLabs/nitro: precompiles/ArbGasInfo.go).
contract ArbGasInfo {
    // Wei for a unit of L1 gas.
    uint256 public l1PricePerUnit;
    // Wei below which a unit of gas here never falls.
    uint256 public minBaseFee;

    uint256 private constant GAS_PER_BYTE = 16;
    uint256 private constant SIMPLE_TRANSACTION_BYTES = 140;
    uint256 private constant STORAGE_GAS = 20_000;

    function setPrices(uint256 l1PricePerUnit_, uint256 minBaseFee_) external {
        l1PricePerUnit = l1PricePerUnit_;
        minBaseFee = minBaseFee_;
    }

    function getPricesInWei() external view returns (uint256, uint256, uint256, uint256, uint256, uint256) {
        uint256 perByte = l1PricePerUnit * GAS_PER_BYTE;
        uint256 total = block.basefee > minBaseFee ? block.basefee : minBaseFee;
        uint256 simple = perByte * SIMPLE_TRANSACTION_BYTES;
        return (simple, perByte, total * STORAGE_GAS, minBaseFee, total - minBaseFee, total);
    }
}
