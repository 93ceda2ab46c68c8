#include "base/hmac.h"

#include <gtest/gtest.h>

#include <string>

namespace fathom {
namespace {

struct HmacCase {
  std::string key;
  std::string text;
  const char* hmac;
};

// RFC 4231, sections 4.2 to 4.4, 4.7 and 4.8: keys shorter and longer than a block.
TEST(Hmac, IsThatOfRfc4231) {
  const HmacCase cases[] = {
      {std::string(20, '\x0b'), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {"Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {std::string(20, '\xaa'), std::string(50, '\xdd'),
       "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
      {std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First",
       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
      {std::string(131, '\xaa'),
       "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be "
       "hashed "
       "before being used by the HMAC algorithm.",
       "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"}};
  for (const HmacCase& one : cases) EXPECT_EQ(hmac_sha256(one.key, one.text).hex(), one.hmac) << one.text;
}

}  // namespace
}  // namespace fathom
