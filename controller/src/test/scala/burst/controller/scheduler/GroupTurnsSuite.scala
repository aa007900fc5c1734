package burst.controller.scheduler

import burst.protocol.FlareId
import munit.FunSuite
import scala.collection.immutable.AbstractMap

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

  test("what becomes of one flare is known without a look at all groups"):
    val none = GroupTurns(Unscannable(Map.empty), Unscannable(Map.empty))
    val turns = none.opened(group).join(group, a).join(group, b)
    assertEquals((turns.groupOf(a), turns.groupOf(c)), (Some(group), None))
    assertEquals((turns.position(b), turns.leave(a).current(group)), (Some(1), Some(b)))
    assertEquals(turns.ended(group).groupOf(b), None)

/** A map in which each group can be looked up, and through which nobody may go. */
final class Unscannable[V](of: Map[FlareId, V]) extends AbstractMap[FlareId, V]:
  def get(key: FlareId): Option[V] = of.get(key)
  def removed(key: FlareId): Map[FlareId, V] = Unscannable(of.removed(key))
  def updated[W >: V](key: FlareId, value: W): Map[FlareId, W] = Unscannable(of.updated(key, value))
  def iterator: Iterator[(FlareId, V)] = throw AssertionError("all groups were looked at")
