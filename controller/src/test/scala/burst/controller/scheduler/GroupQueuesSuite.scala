package burst.controller.scheduler

import burst.protocol.FlareId
import munit.FunSuite
import scala.collection.immutable.AbstractMap

class GroupQueuesSuite extends FunSuite:
  private val group = FlareId.random()
  private val Vector(a, b, c) = Vector.fill(3)(FlareId.random()): @unchecked

  test("nobody's turn comes before the group is open, then one after the other's"):
    val waiting = GroupQueues.empty.join(group, a).join(group, b)
    assertEquals(waiting.current(group), None)
    assertEquals(Vector(a, b).map(waiting.position), Vector(Some(1), Some(2)))
    val open = waiting.opened(group, 1)
    assertEquals(open.current(group), Some(a))
    assertEquals(Vector(a, b).map(open.position), Vector(None, Some(1)))
    assertEquals(open.leave(a).current(group), Some(b))
    assertEquals(open.leave(a).leave(b).current(group), None)

  test("a flare that leaves the queue changes nobody's turn"):
    val queues = GroupQueues.empty.opened(group, 1).join(group, a).join(group, b).join(group, c).leave(b)
    assertEquals((queues.current(group), queues.position(c)), (Some(a), Some(1)))
    assertEquals(queues.leave(b), queues)

  test("groups have queues of their own, which end with them"):
    val other = FlareId.random()
    val queues = GroupQueues.empty.opened(group, 1).opened(other, 1).join(group, a).join(other, b)
    assertEquals((queues.current(group), queues.current(other)), (Some(a), Some(b)))
    assertEquals(queues.groupOf(b), Some(other))
    val rest = queues.ended(other)
    assertEquals((rest.current(other), rest.groupOf(b), rest.current(group)), (None, None, Some(a)))

  test("what becomes of one flare is known without a look at all groups"):
    val none = GroupQueues(Unscannable(Map.empty), Unscannable(Map.empty))
    val queues = none.opened(group, 1).join(group, a).join(group, b)
    assertEquals((queues.groupOf(a), queues.groupOf(c)), (Some(group), None))
    assertEquals((queues.position(b), queues.leave(a).current(group)), (Some(1), Some(b)))
    assertEquals(queues.ended(group).groupOf(b), None)

/** A map in which each group can be looked up, and through which nobody may go. */
final class Unscannable[V](of: Map[FlareId, V]) extends AbstractMap[FlareId, V]:
  def get(key: FlareId): Option[V] = of.get(key)
  def removed(key: FlareId): Map[FlareId, V] = Unscannable(of.removed(key))
  def updated[W >: V](key: FlareId, value: W): Map[FlareId, W] = Unscannable(of.updated(key, value))
  def iterator: Iterator[(FlareId, V)] = throw AssertionError("all groups were looked at")
