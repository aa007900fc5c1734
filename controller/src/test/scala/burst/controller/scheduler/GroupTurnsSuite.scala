package burst.controller.scheduler

import burst.protocol.FlareId
import munit.FunSuite

class GroupTurnsSuite extends FunSuite:
  private val group = FlareId.random()
  private val Vector(a, b, c) = Vector.fill(3)(FlareId.random()): @unchecked

  test("nobody's turn comes before the group is open, then one after the other's"):
    val waiting = GroupTurns.empty.join(group, a).join(group, b)
    assertEquals(waiting.current(group), None)
    assertEquals(Vector(a, b).map(waiting.position), Vector(Some(1), Some(2)))
    val open = waiting.opened(group)
    assertEquals(open.current(group), Some(a))
    assertEquals(Vector(a, b).map(open.position), Vector(None, Some(1)))
    assertEquals(open.leave(a).current(group), Some(b))
    assertEquals(open.leave(a).leave(b).current(group), None)

  test("who leaves the line changes nobody's turn"):
    val turns = GroupTurns.empty.opened(group).join(group, a).join(group, b).join(group, c).leave(b)
    assertEquals((turns.current(group), turns.position(c)), (Some(a), Some(1)))
    assertEquals(turns.leave(b), turns)

  test("groups have turns of their own, which end with them"):
    val other = FlareId.random()
    val turns = GroupTurns.empty.opened(group).opened(other).join(group, a).join(other, b)
    assertEquals((turns.current(group), turns.current(other)), (Some(a), Some(b)))
    assertEquals(turns.groupOf(b), Some(other))
    val rest = turns.ended(other)
    assertEquals((rest.current(other), rest.groupOf(b), rest.current(group)), (None, None, Some(a)))
