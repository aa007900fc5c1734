package burst.controller.scheduler

import burst.controller.flare.FlareState
import burst.protocol.FailureKind
import scala.concurrent.duration.DurationInt

/** The machine's clock is set while flares wait and run: times of day follow it, and nothing else does. */
class SetClockSuite extends SchedulerFixture:
  Seq(1.hour, -1.hour).foreach: jump =>
    test(s"a flare begins and ends as if the clock had not been set by $jump"):
      val world = World()
      val a = world.invoker("a", 4)
      val running = world.submit(Samples.request(3, timeout = 20.seconds))
      val end = world.await(running.id)
      val pack = a.prepared()
      world.set.set(jump.toMicros)
      world.pass(2.seconds)
      a.succeed(pack)
      assertEquals(world.ended(end).ended, Some(running.created + 2.seconds))

    test(s"a worker past its deadline by its own clock has timed out, even with ours set by $jump"):
      val world = World()
      val a = world.invoker("a", 4)
      val end = world.await(world.submit(Samples.request(3, timeout = 20.seconds)).id)
      val pack = a.prepared()
      world.set.set(jump.toMicros)
      // the clock advances and no timer fires: the worker reports first
      world.clock.addAndGet(20.seconds.toMicros)
      a.fail(pack, 0, FailureKind.Timeout)
      a.end(pack)
      assertEquals(world.ended(end).state, FlareState.TimedOut)

    test(s"a waiting flare starts as if the clock had not been set by $jump"):
      val world = World()
      val a = world.invoker("a", 4)
      val _ = world.submit(Samples.request(3, timeout = 20.seconds))
      val waiting = world.submit(Samples.request(4))
      def start = world
        .ask[GangScheduler.Located](GangScheduler.Locate(waiting.id, _))
        .receiveMessage()
        .standing
        .flatMap(_.start.toOption)
      val released = start.getOrElse(fail("no forecast"))
      world.set.set(jump.toMicros)
      assertEquals(start, Some(released + jump), "by the clock as it is set now")
      world.pass(1.second)
      a.succeed(a.prepared())
      assertEquals(a.prepared().assignment.timeLeft, Samples.request(4).timeout)
