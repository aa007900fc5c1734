package burst.controller.http

import org.apache.pekko.util.ByteString

class JsonDepthSuite extends munit.FunSuite:
  private def exceeds(text: String) = JsonDepth.exceeds(ByteString(text), 3)

  test("brackets are counted, and those in strings are not"):
    assert(exceeds("[[[["))
    assert(exceeds("""{"a":[{"b":{}}]}"""))
    assert(!exceeds("[[[]],[[]]]"))
    assert(!exceeds("""["[[[[[["]"""))
    assert(!exceeds("""["\"[[[[[["]"""))
    assert(exceeds("""["\\",[[[]]]]"""))
    assert(!exceeds("]]]]"))
    assert(!exceeds(""))

  test("millions of brackets are told in no time and no stack"):
    assert(exceeds("[" * 5000000))
    assert(!exceeds("[]," * 1000000))
