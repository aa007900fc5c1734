package burst.protocol

import munit.FunSuite

class FailureSuite extends FunSuite:
  test("long texts are cut between characters"):
    val long = "x" * (Failure.MessageLimit - 1) + "😀" * 100
    val failure = Failure(FailureKind.Error, long, operation = Some(long))
    assertEquals(failure.short.message, "x" * (Failure.MessageLimit - 1) + "…")
    assertEquals(failure.short.operation.map(_.length), Some(Failure.OperationLimit + 1))
    val small = Failure(FailureKind.Error, "x" * Failure.MessageLimit)
    assertEquals(small.short, small)
