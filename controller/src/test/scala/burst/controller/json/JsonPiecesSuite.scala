package burst.controller.json

import burst.controller.json.JsonPieces.Problem
import burst.protocol.JsonText
import org.apache.pekko.util.ByteString

class JsonPiecesSuite extends munit.FunSuite:
  private val pieces = JsonPieces(depth = 20)

  private def members(text: String) =
    pieces.members(ByteString(text), 10).map(_.map((n, v) => n -> v.bytes.utf8String))
  private def elements(text: String, most: Int = 10) =
    pieces.elements(ByteString(text), most).map(_.map(_.bytes.utf8String))

  test("pieces are the very text of what is inside"):
    assertEquals(
      members(""" {"a" : 1e400, "ü\n":"x\"}", "c":[ {} ,"😀"],"d":-0.10} """),
      Right(Vector("a" -> "1e400", "ü\n" -> "\"x\\\"}\"", "c" -> """[ {} ,"😀"]""", "d" -> "-0.10"))
    )
    assertEquals(elements("[1 , null,\t[2,3],\"é\" ]"), Right(Vector("1", "null", "[2,3]", "\"é\"")))
    assertEquals(elements("[]"), Right(Vector.empty))
    assertEquals(members("{}"), Right(Vector.empty))

  test("what is no JSON, goes on, or is something else is told"):
    for bad <-
        Vector("", "{", "{\"a\":}", "{\"a\":1]", "{\"a\":1}x", "{\"a\":01}", "{\"a\":tru}", "{\"a\":\"\n\"}")
    do
      assertEquals(members(bad), Left(Problem.Malformed), bad)
    for bad <- Vector("[1,]", "[1", "[1] [2]", "[1,\"x]") do
      assertEquals(elements(bad), Left(Problem.Malformed), bad)
    assertEquals(members("[1]"), Left(Problem.OtherType))
    assertEquals(elements("7"), Left(Problem.OtherType))

  test("more than there may be is told before it is gathered; depth is limited, however deep"):
    assertEquals(elements("[1,2,3]", most = 2), Left(Problem.TooMany))
    assertEquals(elements("[" * 21 + "]" * 21), Left(Problem.Malformed))
    assertEquals(elements("[" * 3_000_000), Left(Problem.Malformed))

  test("defaults stand under an object's own members, and nowhere else"):
    val defaults = Vector("a" -> JsonText("1"), "q\"" -> JsonText("{}"))
    def over(text: String) = pieces.over(defaults, JsonText(text)).bytes.utf8String
    assertEquals(over(" {}"), """{"a":1,"q\"":{}}""")
    assertEquals(over("""{"b":{"a":2}}"""), """{"a":1,"q\"":{},"b":{"a":2}}""")
    assertEquals(over("""{"\u0061":2}"""), """{"q\"":{},"\u0061":2}""")
    assertEquals(over("[{}]"), "[{}]")
    assertEquals(over("7"), "7")
