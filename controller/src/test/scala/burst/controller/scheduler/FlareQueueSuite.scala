package burst.controller.scheduler

import burst.controller.flare.ActivationFields
import burst.node.MonotonicTime
import burst.protocol.FlareId
import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

class FlareQueueSuite extends ScalaCheckSuite:
  private def waiting(tenant: String, size: Int = 1, part: Boolean = false): Waiting =
    val request = Samples.request(size, tenant)
    val cause = Option.when(part)(FlareId.random())
    val fields = ActivationFields("guest/hello", "0.0.1", "t", 10, 1, cause, part, None, false, None)
    Waiting(FlareId.random(), 1, request.copy(activation = Some(fields)), since = MonotonicTime.Zero)

  private enum Step:
    case Comes(flare: Waiting)
    case IsServed
    case Leaves(which: Int)

  private val steps: Gen[List[Step]] =
    val comes =
      for
        tenant <- Gen.oneOf("A", "B", "C")
        size <- Gen.choose(1, 9)
        part <- Gen.prob(0.2)
      yield Step.Comes(waiting(tenant, size, part))
    Gen.listOf(
      Gen.frequency(5 -> comes, 2 -> Gen.const(Step.IsServed), 2 -> Gen.choose(0, 99).map(Step.Leaves(_)))
    )

  property("a namespace's flares wait in order of arrival, whichever flares arrive, are served or leave"):
    forAll(steps) { steps =>
      var (queue, model) = (FlareQueue.empty, Vector.empty[Waiting])
      steps.foreach:
        case Step.Comes(flare) =>
          queue = queue.enqueue(flare)
          model :+= flare
        case Step.IsServed =>
          queue.order.nextOption().foreach: first =>
            assertEquals(model.find(_.tenant == first.tenant), Some(first))
            queue = queue.served(first)
            model = model.filterNot(_ == first)
        case Step.Leaves(which) =>
          model.lift(which).foreach: flare =>
            queue = queue.remove(flare.id, flare.tenant)
            model = model.filterNot(_ == flare)
      val order = queue.order.toVector
      assertEquals(order.length, model.length)
      assertEquals(queue.length, model.length)
      assertEquals(order.groupBy(_.tenant), model.groupBy(_.tenant))
      val wholes = model.count(flare => !Waiting.isPart(flare.request))
      assert(queue.exceeds(wholes - 1) && !queue.exceeds(wholes))
      model.groupBy(_.tenant).foreach: (tenant, its) =>
        val own = its.count(flare => !Waiting.isPart(flare.request))
        assert(queue.exceeds(own - 1, tenant) && !queue.exceeds(own, tenant))
    }

  test("the flares since a number, in order of arrival, of all namespaces"):
    val (a, b, c) = (waiting("A"), waiting("B"), waiting("A"))
    val before = FlareQueue.empty.enqueue(a)
    val after = before.enqueue(b).enqueue(c)
    assertEquals(after.since(before.next), Vector(b, c))
    assertEquals(after.remove(b.id, "B").since(before.next), Vector(c))
    assertEquals(after.since(after.next), Vector.empty)

  test("a flare that gives back its slots gets its old place, and no other flare moves"):
    val (a, b, c) = (waiting("A"), waiting("A"), waiting("A"))
    val queue = FlareQueue.empty.enqueue(a).enqueue(b)
    val ticket = queue.ticketOf(a).get
    val without = queue.served(a).enqueue(c)
    val back = a.copy(attempt = 2, number = Some(ticket.number))
    assertEquals(without.enqueue(back).order.toVector, Vector(back, b, c))
    assertEquals(without.enqueue(back).next, without.next)
    assertEquals(FlareQueue.empty.enqueue(back).enqueue(b).order.toVector, Vector(back, b))

  test("removing an unknown flare has no effect, and a flare that comes again goes to the end"):
    val (a, b) = (waiting("A"), waiting("A"))
    val queue = FlareQueue.empty.enqueue(a).enqueue(b)
    assertEquals(queue.remove(FlareId.random(), "A"), queue)
    assertEquals(queue.enqueue(a).order.toVector, Vector(b, a))
