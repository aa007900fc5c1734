package burst.invoker.pool

import burst.protocol.{DefinitionRef, Environment, PackageId}
import munit.FunSuite

class PrewarmPoolSuite extends FunSuite:
  private val guess = PackGuess(PackSize(4, 16), None)
  private val python = PackGuess(PackSize(1, 2), Some("python:3"))
  private val empty = PrewarmPool[String](target = 2, Some(guess))

  test("containers are started one at a time until there are enough"):
    assertEquals(empty.missing, Some(guess))
    assertEquals(empty.begun.missing, None)
    val one = empty.begun.answered(succeeded = true).put("a")
    assert(one.missing.nonEmpty)
    assert(one.hasRoom && one.put("b").missing.isEmpty && !one.put("b").hasRoom)
    assertEquals(empty.copy(target = 0).missing, None)

  test("the oldest is taken, and what is taken or dead must be replaced"):
    val (taken, rest) = empty.put("a").put("b").take(python)
    assertEquals((taken, rest.ready), (Some("a"), Vector("b")))
    assertEquals(rest.missing, Some(python))
    assert(rest.remove("b").take(python)._1.isEmpty)

  test("failures in a row double the pause, and a successful start ends it"):
    def pauseAfter(failures: Int) =
      (1 to failures).foldLeft(empty)((pool, _) => pool.begun.answered(succeeded = false)).pause
    assertEquals((1 to 9).map(pauseAfter).toVector, Vector(1, 2, 4, 8, 16, 32, 64, 64, 64))
    val failed = empty.begun.answered(succeeded = false)
    assert(failed.missing.isEmpty && failed.beat.missing.nonEmpty)
    assertEquals(failed.begun.answered(succeeded = true).failures, 0)

  test("without a guess nothing is started until a pack was requested"):
    val unknown = empty.copy(guess = None)
    assertEquals(unknown.missing, None)
    assertEquals(unknown.take(python)._2.missing, Some(python))

  test("an interpreter is started ahead if the last pack could have used it"):
    val definition = DefinitionRef("guest", "hello", "0.0.1", PackageId.of(Array[Byte](1)))
    def kind(shape: PackShape) = PackGuess.of(shape).kind
    val shape = PackShape(definition.copy(kind = "python:3"), workers = 1, memoryMiB = 2)
    assertEquals(PackGuess.of(shape), python)
    assertEquals(kind(shape.copy(definition = definition)), None)
    assertEquals(kind(shape.copy(definition = definition.copy(kind = "nodejs:20", concurrency = 2))), None)
    assertEquals(kind(shape.copy(environment = Environment(Map("NAME" -> "value")))), None)

  test("a pool is empty once nothing is ready or starting"):
    assert(empty.isEmpty && !empty.begun.isEmpty && !empty.put("a").isEmpty)
