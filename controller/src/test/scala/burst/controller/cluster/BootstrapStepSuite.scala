package burst.controller.cluster

import burst.controller.store.LockMode

class BootstrapStepSuite extends munit.FunSuite:
  import BootstrapStep.*

  private val free = None
  private val shared = Some(LockMode.Shared)
  private val whole = Some(LockMode.Exclusive)

  // member, lock held, patient -> next step
  Vector(
    (false, free, true) -> Probe,
    (false, free, false) -> ClaimLock,
    // A lock left from a membership that was lost does not permit founding a cluster.
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
