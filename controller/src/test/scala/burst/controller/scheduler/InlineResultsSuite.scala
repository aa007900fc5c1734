package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareState, Output, WorkerResult}
import burst.controller.store.Samples
import burst.protocol.{Failure, FailureKind, JsonText}

class InlineResultsSuite extends munit.FunSuite:
  private def result(worker: Int, text: String = "1") =
    WorkerResult(worker, Some(Output.Inline(JsonText(text))), None)
  private def failed(worker: Int) =
    WorkerResult(worker, None, Some(Failure(FailureKind.Panic, "boom")))
  private def ended(state: FlareState): Flare = Samples.grown(Samples.flare(), state)
  private val (succeeded, failure) = (ended(FlareState.Succeeded), ended(FlareState.Failed))

  private def told(size: Int, ends: Flare)(results: WorkerResult*): Vector[WorkerResult] =
    val told = InlineResults(size, isBurst = false)
    results.foreach(result => told.add(Vector(result)))
    told.of(ends)

  test("all results are returned in the workers' order, each as last reported"):
    assertEquals(told(2, succeeded)(result(1), result(0), result(1, "2")), Vector(result(0), result(1, "2")))
    assertEquals(told(2, failure)(result(1), failed(0)), Vector(failed(0), result(1)))

  test("no results are returned if one is missing or does not match the flare's end"):
    assertEquals(told(2, succeeded)(result(1)), Vector.empty)
    assertEquals(told(2, failure)(result(0), result(1)), Vector.empty)
    assertEquals(told(2, succeeded)(failed(0), result(1)), Vector.empty)
    val again = InlineResults(1, isBurst = false)
    again.add(Vector(result(0)))
    again.clear()
    assertEquals(again.of(succeeded), Vector.empty)

  test("results are kept only up to the limit of an inline output, and only for few workers"):
    val half = "7" * (Output.MostInline / 2)
    assertEquals(told(2, succeeded)(result(0, half), result(1, half)).size, 2)
    assertEquals(told(2, succeeded)(result(0, half), result(1, half + "7")), Vector.empty)
    assertEquals(told(1, succeeded)(WorkerResult(0, Some(Output.OutOfLine(7)), None)), Vector.empty)
    assertEquals(told(9, succeeded)((0 until 9).map(result(_))*), Vector.empty)
    val burst = InlineResults(1, isBurst = true)
    burst.add(Vector(result(0)))
    assertEquals(burst.of(succeeded), Vector.empty)
