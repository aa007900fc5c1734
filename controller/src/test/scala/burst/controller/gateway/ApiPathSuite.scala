package burst.controller.gateway

import com.sun.management.ThreadMXBean
import java.lang.management.ManagementFactory
import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

class ApiPathSuite extends ScalaCheckSuite:
  private def path(text: String): ApiPath = ApiPath.parse(text).getOrElse(fail(text))

  private def values(template: String, asked: String) = path(template).values(ApiPath.split(asked))

  test("parameters are whole segments"):
    assertEquals(values("/books/{isbn}", "/books/42"), Some(Vector("isbn" -> "42")))
    assertEquals(values("/{a}/x/{b}", "/1/x/2"), Some(Vector("a" -> "1", "b" -> "2")))
    assertEquals(values("/books", "/books"), Some(Vector.empty))
    assertEquals(values("/", "/"), Some(Vector.empty))
    Seq("/books", "/books/", "/books/1/2", "/Books/1", "/").foreach: asked =>
      assertEquals(values("/books/{isbn}", asked), None, asked)

  test("matching a path of another length allocates almost nothing"):
    val template = path("/a" * 200)
    val asked = Vector.fill(100)("a")
    def allocated: Long = ManagementFactory.getThreadMXBean match
      case threads: ThreadMXBean => threads.getCurrentThreadAllocatedBytes()
      case _ => fail("this JVM does not count allocations")
    val before = allocated
    (1 to 10_000).foreach(_ => assert(template.values(asked).isEmpty))
    assert(allocated - before < 10_000_000, s"${allocated - before} bytes")

  test("an invalid path is refused"):
    Seq(
      "",
      "books",
      "/a b",
      "/a?b",
      "/a#b",
      "/a/../b",
      "/./a",
      "/{",
      "/{}",
      "/{a}b",
      "/x{a}",
      "/{a}/{a}",
      "/{a-b}",
      "/{__ow_user}",
      "/{__OW_BODY}",
      "/a%2fb",
      "/a\nb",
      "/é",
      "/" + "a" * ApiPath.MaxLength,
      s"/{${"a" * 65}}"
    )
      .foreach(text => assertEquals(ApiPath.parse(text), None, text))

  test("base paths have no parameters and no trailing slash"):
    Seq("/", "/a", "/a/b", "/v1.0").foreach(text => assert(ApiPath.isBase(text), text))
    Seq("", "a", "/a/", "//", "/a//b", "/{a}", "/a/..", "/a b").foreach(text =>
      assert(!ApiPath.isBase(text), text)
    )

  private val segment = Gen.nonEmptyListOf(Gen.alphaNumChar).map(_.mkString.take(20))

  property("a path's values are the segments at its parameters' positions"):
    forAll(Gen.nonEmptyListOf(Gen.zip(Gen.oneOf(true, false), segment))): parts =>
      val all = parts.take(20).zipWithIndex
      val template = all.map { case ((isParameter, text), n) =>
        if isParameter then s"{p$n}" else text
      }.mkString("/", "/", "")
      val wanted = all.collect { case ((true, text), n) => s"p$n" -> text }.toVector
      assertEquals(
        values(template, all.map { case ((_, text), _) => text }.mkString("/", "/", "")),
        Some(wanted)
      )
