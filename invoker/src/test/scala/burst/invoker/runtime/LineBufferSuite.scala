package burst.invoker.runtime

import munit.ScalaCheckSuite
import org.apache.pekko.util.ByteString
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

class LineBufferSuite extends ScalaCheckSuite:
  private def feed(chunks: Seq[String], limit: Int): Option[Vector[String]] =
    val start: Option[(LineBuffer, Vector[ByteString])] = Some((LineBuffer(limit), Vector.empty))
    chunks
      .foldLeft(start): (state, chunk) =>
        state.flatMap: (buffer, lines) =>
          buffer.feed(ByteString(chunk)).toOption.map((rest, more) => (rest, lines ++ more))
      .map(_._2.map(_.utf8String))

  test("lines come whole, wherever the chunks were cut"):
    assertEquals(feed(List("ab", "c\nd", "e\n\n", "f\ng"), 10), Some(Vector("abc", "de", "f")))

  test("a line beyond the limit breaks the stream, whether it is complete or not"):
    assertEquals(feed(List("12345\n"), 5), Some(Vector("12345")))
    assertEquals(feed(List("123456\n"), 5), None)
    assertEquals(feed(List("123", "456"), 5), None)
    assertEquals(feed(List("ok\n123456"), 5), None)

  property("a text yields the same lines wherever it is cut"):
    val text = Gen.listOf(Gen.stringOf(Gen.alphaNumChar).suchThat(_.nonEmpty))
    forAll(text, Gen.choose(1, 7)): (lines, size) =>
      val content = lines.map(_ + "\n").mkString
      assertEquals(feed(content.grouped(size).toSeq, 1000), Some(lines.toVector))

  test("a long line that arrives byte by byte is held in few pieces"):
    val (buffer, _) = (1 to 100_000).foldLeft((LineBuffer(100_000), Vector.empty[ByteString])):
      case ((buffer, _), n) => buffer.feed(ByteString(n.toByte | 64)).toOption.get
    assertEquals(buffer.rest.length, 100_000)
    assert(buffer.rest.lastFirst.size < 20, buffer.rest.lastFirst.map(_.length))
    assertEquals(buffer.feed(ByteString("\n")).map(_._2.map(_.length)), Right(Vector(100_000)))
