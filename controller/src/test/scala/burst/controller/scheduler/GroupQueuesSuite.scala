package burst.controller.scheduler

import burst.protocol.FlareId
import munit.FunSuite
import scala.collection.immutable.AbstractMap

class GroupQueuesSuite extends FunSuite:
  private val group = FlareId.random()
  private val Vector(a, b, c) = Vector.fill(3)(FlareId.random()): @unchecked

  test("no flare has its turn before the group is open; then they take turns in order"):
    val waiting = GroupQueues.empty.join(group, a).join(group, b)
    assertEquals(waiting.current(group), None)
    assertEquals(Vector(a, b).map(waiting.position), Vector(Some(1), Some(2)))
    val open = waiting.opened(group, 1)
    assertEquals(open.current(group), Some(a))
    assertEquals(Vector(a, b).map(open.position), Vector(None, Some(1)))
    assertEquals(open.leave(a).current(group), Some(b))
    assertEquals(open.leave(a).leave(b).current(group), None)

  test("a flare that leaves the queue does not change the others' turns"):
    val queues = GroupQueues.empty.opened(group, 1).join(group, a).join(group, b).join(group, c).leave(b)
    assertEquals((queues.current(group), queues.position(c)), (Some(a), Some(1)))
    assertEquals(queues.leave(b), queues)

  test("each group has its own queue, which ends with it"):
    val other = FlareId.random()
    val queues = GroupQueues.empty.opened(group, 1).opened(other, 1).join(group, a).join(other, b)
    assertEquals((queues.current(group), queues.current(other)), (Some(a), Some(b)))
    assertEquals(queues.groupOf(b), Some(other))
    val rest = queues.ended(other)
    assertEquals((rest.current(other), rest.groupOf(b), rest.current(group)), (None, None, Some(a)))

  test("one flare's place is found without scanning all groups"):
    val none = GroupQueues(Unscannable(Map.empty), Unscannable(Map.empty))
    val queues = none.opened(group, 1).join(group, a).join(group, b)
    assertEquals((queues.groupOf(a), queues.groupOf(c)), (Some(group), None))
    assertEquals((queues.position(b), queues.leave(a).current(group)), (Some(1), Some(b)))
    assertEquals(queues.ended(group).groupOf(b), None)

/** A map that allows lookups but no iteration. */
final class Unscannable[V](of: Map[FlareId, V]) extends AbstractMap[FlareId, V]:
  def get(key: FlareId): Option[V] = of.get(key)
  def removed(key: FlareId): Map[FlareId, V] = Unscannable(of.removed(key))
  def updated[W >: V](key: FlareId, value: W): Map[FlareId, W] = Unscannable(of.updated(key, value))
  def iterator: Iterator[(FlareId, V)] = throw AssertionError("all groups were looked at")
