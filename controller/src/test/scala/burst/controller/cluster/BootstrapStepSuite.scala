package burst.controller.cluster

import burst.controller.store.LockMode

class BootstrapStepSuite extends munit.FunSuite:
  import BootstrapStep.*

  private val free = None
  private val shared = Some(LockMode.Shared)
  private val whole = Some(LockMode.Exclusive)

  // member, what it holds, patient -> what it does
  Vector(
    (false, free, true) -> Probe,
    (false, free, false) -> ClaimLock,
    // What it still holds of a membership that it lost is no leave to found.
    (false, shared, true) -> Probe,
    (false, shared, false) -> ClaimLock,
    (false, whole, true) -> SelfJoin,
    (false, whole, false) -> SelfJoin,
    (true, free, true) -> ShareLock,
    (true, free, false) -> ShareLock,
    (true, whole, true) -> ShareLock,
    (true, whole, false) -> ShareLock,
    (true, shared, true) -> Joined,
    (true, shared, false) -> Joined
  ).foreach:
    case ((member, held, patient), expected) =>
      test(s"member $member, holding $held, patient $patient: $expected"):
        assertEquals(BootstrapStep.next(member, held, patient), expected)
