// The contract, on the model.
#include "store/testing/contract.h"

namespace fathom::store::testing {

INSTANTIATE_TEST_SUITE_P(Engines, StoreContract, ::testing::Values(model_factory()), factory_name);

}  // namespace fathom::store::testing
