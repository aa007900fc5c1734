package burst.controller.json

import burst.controller.json.JsonPieces.Problem
import burst.protocol.JsonText
import java.util.{Base64, Random}
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.DurationInt

class JsonPiecesSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private val pieces = JsonPieces(depth = 20)

  private def members(text: String, most: Int = 10) =
    pieces.members(ByteString(text), most).map(_.map((n, v) => n -> v.bytes.utf8String))
  private def elements(text: String, most: Int = 10) =
    pieces.elements(ByteString(text), most).map(_.map(_.bytes.utf8String))

  test("pieces are the exact text of the members and elements"):
    assertEquals(
      members(""" {"a" : 1e400, "ü\n":"x\"}", "c":[ {} ,"😀"],"d":-0.10} """),
      Right(Vector("a" -> "1e400", "ü\n" -> "\"x\\\"}\"", "c" -> """[ {} ,"😀"]""", "d" -> "-0.10"))
    )
    assertEquals(elements("[1 , null,\t[2,3],\"é\" ]"), Right(Vector("1", "null", "[2,3]", "\"é\"")))
    assertEquals(elements("[]"), Right(Vector.empty))
    assertEquals(members("{}"), Right(Vector.empty))

  test("malformed, unfinished and trailing input is reported, and so is another type"):
    for bad <-
        Vector("", "{", "{\"a\":}", "{\"a\":1]", "{\"a\":1}x", "{\"a\":01}", "{\"a\":tru}", "{\"a\":\"\n\"}")
    do
      assertEquals(members(bad), Left(Problem.Malformed), bad)
    for bad <- Vector("[1,]", "[1", "[1] [2]", "[1,\"x]") do
      assertEquals(elements(bad), Left(Problem.Malformed), bad)
    assertEquals(members("[1]"), Left(Problem.OtherType))
    assertEquals(elements("7"), Left(Problem.OtherType))

  test("too many elements are reported before they are collected; nesting depth is limited"):
    assertEquals(elements("[1,2,3]", most = 2), Left(Problem.TooMany))
    assertEquals(elements("[" * 21 + "]" * 21), Left(Problem.Malformed))
    assertEquals(elements("[" * 3_000_000), Left(Problem.Malformed))

  test("defaults are added below an object's own members, and nowhere else"):
    val defaults = Defaults(Vector("a" -> JsonText("1"), "q\"" -> JsonText("{}")))
    def over(text: String) =
      val filled = pieces.over(defaults, JsonText(text))
      assertEquals(filled.length, filled.text.length)
      assertEquals(filled.isNew, filled.text != JsonText(text))
      filled.text.bytes.utf8String
    assertEquals(over(" {}"), """{"a":1,"q\"":{}}""")
    assertEquals(over("""{"b":{"a":2}}"""), """{"a":1,"q\"":{},"b":{"a":2}}""")
    assertEquals(over("""{"\u0061":2}"""), """{"q\"":{},"\u0061":2}""")
    assertEquals(over("[{}]"), "[{}]")
    assertEquals(over("7"), "7")
    assertEquals(over(" { } "), """{"a":1,"q\"":{} } """)
    assertEquals(over("""{"a":0,"q\"":1}"""), """{"a":0,"q\"":1}""")

  test("an object filled with defaults is one compact piece of memory"):
    val defaults = Defaults(Vector.tabulate(300)(i => s"name$i" -> JsonText(s"$i")))
    val whole = pieces.over(defaults, JsonText("""{"own":1}""")).text.bytes
    assert(whole.isCompact)
    assertEquals(members(whole.utf8String, 301).map(_.last), Right("own" -> "1"))

  test("the pieces of large documents are found wherever they are"):
    val random = Random(7)
    val values = Vector.fill(3000):
      random.nextInt(4) match
        case 0 => random.nextInt().toString
        case 1 => "\"" + "x\\\"é😀\\\\".repeat(random.nextInt(30)) + "\""
        case 2 => s"""[{"a" : ${random.nextInt()}}, []]"""
        case _ => "true"
    assertEquals(elements(values.mkString("[", " ,", "]"), 3000), Right(values))
    val named = values.zipWithIndex.map((value, i) => s"n$i" -> value)
    assertEquals(members(named.map((n, v) => s"\"$n\":$v").mkString("{", ",", "}"), 3000), Right(named))

  test("the largest allowed number of names is no problem"):
    val named = Vector.tabulate(99_000)(i => s"a name of some length $i" -> "0")
    val text = named.map((n, v) => s"\"$n\":$v").mkString("{", ",", "}")
    assertEquals(members(text, 100_000).map(_.size), Right(99_000))

  test("base64 is decoded as written in JSON, up to the maximum length"):
    val bytes = Array.tabulate(10_000)(_.toByte)
    val text = Base64.getEncoder.encodeToString(bytes)
    def decoded(text: String, most: Int = 10_000) = pieces.binary(JsonText(text), most).map(_.toVector)
    assertEquals(decoded(s"\"$text\""), Right(bytes.toVector))
    assertEquals(decoded(s"\"${text.replace("/", "\\/")}\""), Right(bytes.toVector))
    assertEquals(decoded(s"\"${text.replace("=", "")}\""), Right(bytes.toVector))
    assertEquals(decoded(s"\"$text\"", most = 9_999), Left(Problem.TooMany))
    assertEquals(decoded("\"\""), Right(Vector.empty))
    assertEquals(decoded("7"), Left(Problem.OtherType))
    Seq("\"%%%%\"", "\"a\"", "\"ab=\"", "\"====\"").foreach: bad =>
      assertEquals(decoded(bad), Left(Problem.Malformed), bad)
