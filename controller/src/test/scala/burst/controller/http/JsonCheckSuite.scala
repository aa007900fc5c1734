package burst.controller.http

import burst.controller.http.JsonProblem.*
import java.nio.charset.StandardCharsets.UTF_8
import org.apache.pekko.util.ByteString

class JsonCheckSuite extends munit.FunSuite:
  private val limits = JsonLimits(depth = 3, values = 5_000_000, number = 10)

  private def problem(bytes: Array[Byte]): Option[JsonProblem] =
    JsonCheck.problem(ByteString(bytes), limits)

  private def problem(text: String): Option[JsonProblem] = problem(text.getBytes(UTF_8))

  private def is(text: String, expected: JsonProblem)(using munit.Location): Unit =
    assertEquals(problem(text), Some(expected), text.take(100))

  private def fine(text: String)(using munit.Location): Unit =
    assertEquals(problem(text), None, text.take(100))

  test("brackets are counted, except in strings"):
    is("[[[[", TooDeep(3))
    is("""{"a":[{"b":{}}]}""", TooDeep(3))
    fine("[[[]],[[]]]")
    fine("""["[[[[[["]""")
    fine("""["\"[[[[[["]""")
    is("""["\\",[[[]]]]""", TooDeep(3))
    fine("]]]]")
    fine("")

  test("millions of brackets and values are checked quickly and without recursion"):
    is("[" * 5_000_000, TooDeep(3))
    is("[]," * 3_000_000, TooManyValues(5_000_000))
    fine("1," * 4_000_000)
    is("1," * 5_000_001, TooManyValues(5_000_000))
    fine("\"" + "," * 6_000_000 + "\"")

  test("numbers have a maximum length"):
    fine("[1234567890,-1.5e+300,0]")
    is("[12345678901]", LongNumber(10))
    is("1" * 8_000_000, LongNumber(10))
    is("1e1000000000000", LongNumber(10))
    fine("\"" + "1" * 100 + "\"")

  test("names have a maximum length, and an object and those around it a maximum number of names"):
    val long = JsonCheck.LongestName
    fine(s"""{"${"x" * long}":1}""")
    is(s"""{"${"x" * (long + 1)}":1}""", LongName(long))
    is(s"""{"${"\\u0061" * long}" \n :1}""", LongName(long))
    fine(s"""["${"x" * 10_000}",{"a":"${"x" * 10_000}"}]""")
    val most = JsonCheck.MostNames
    def named(count: Int) = "\"a\":0," * (count - 1) + "\"a\":0"
    fine(s"{${named(most)}}")
    is(s"{${named(most + 1)}}", TooManyNames(most))
    fine(s"[{${named(most)}},{${named(most)}}]")
    fine(s"""{"b":{${named(most - 1)}},"c":{${named(most - 2)}}}""")
    is(s"""{"a":{${named(most)}}}""", TooManyNames(most))
    is(":" * (most + 1), TooManyNames(most))
    fine("]]]:")

  test("invalid text is reported"):
    problem("""["😀", "é", "\ud83d\ude00", "\uD83D\uDE00", "\\ud83d", "\u0000", "\n"]""").foreach(p =>
      fail(p.toString)
    )
    Seq(
      "\\ud800",
      "\\udc00",
      "\\ud800x",
      "\\ud800\\ud800",
      "\\uDFFF",
      "\\ud83d\\n",
      "\\ud83d\\\\ude00"
    ).foreach: escaped =>
      is(s"""["$escaped"]""", HalfSurrogate)
    is("\uFEFF{}", ByteOrderMark)
    Seq(
      Array(0xff),
      Array(0xc0, 0x80),
      Array(0xed, 0xa0, 0x80),
      Array(0xe2, 0x82),
      Array(0xf4, 0x90, 0x80, 0x80)
    ).foreach: bytes =>
      val text = '"'.toByte +: bytes.map(_.toByte) :+ '"'.toByte
      assertEquals(problem(text), Some(NotUtf8), bytes.toSeq.toString)

  test("JSON that breaks off anywhere is left to the parser"):
    val whole = """{"a":["\ud83d\ude00",-1.5e3]}"""
    (0 until whole.length).foreach: end =>
      assert(problem(whole.take(end)).forall(_ == HalfSurrogate), whole.take(end))
    Seq("\"\\", "\"\\u", "\"\\u12", "\"\\uzzzz\"", "-", "\\").foreach(fine)
