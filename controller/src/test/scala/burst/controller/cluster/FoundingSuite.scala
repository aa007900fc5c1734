package burst.controller.cluster

import burst.controller.store.Hold

class FoundingSuite extends munit.FunSuite:
  import Founding.*

  private val free = None
  private val shared = Some(Hold.Shared)
  private val whole = Some(Hold.Whole)

  // member, what it holds, patient -> what it does
  Vector(
    (false, free, true) -> Look,
    (false, free, false) -> Claim,
    // What it still holds of a membership that it lost is no leave to found.
    (false, shared, true) -> Look,
    (false, shared, false) -> Claim,
    (false, whole, true) -> Found,
    (false, whole, false) -> Found,
    (true, free, true) -> Share,
    (true, free, false) -> Share,
    (true, whole, true) -> Share,
    (true, whole, false) -> Share,
    (true, shared, true) -> Rest,
    (true, shared, false) -> Rest
  ).foreach:
    case ((member, held, patient), expected) =>
      test(s"member $member, holding $held, patient $patient: $expected"):
        assertEquals(Founding.next(member, held, patient), expected)
