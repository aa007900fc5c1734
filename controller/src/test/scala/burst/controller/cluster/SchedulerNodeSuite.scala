package burst.controller.cluster

import burst.controller.store.{EmbeddedStorage, UncontendedLock}
import burst.controller.scheduler.GangScheduler
import burst.protocol.link.{Hello, Over, Refused, SessionEndpoint, ToLink, Welcome}
import burst.protocol.InvokerId
import org.apache.pekko.actor.testkit.typed.scaladsl.TestProbe
import org.apache.pekko.actor.typed.scaladsl.adapter.*
import org.apache.pekko.actor.Actor
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt

class SchedulerNodeSuite extends munit.FunSuite, EmbeddedStorage:
  override def munitTimeout = 3.minutes
  private val Soon = 60.seconds

  storage.test("unexpected messages harm neither the scheduler nor the endpoint for Hellos"): storage =>
    val system = ClusterNode()
    try
      val settings = MembershipSettings(0.seconds, 1.hour)
      val membership = Membership.begin(Vector.empty, UncontendedLock, settings)(using system)
      Await.result(membership.joined, Soon)
      val scheduling = ActorScheduling.start(system.settings.config)(storage)(using system)
      val endpoint = SessionEndpoint.at("pekko://burst")(using system)
      val stray = Refused("this is for an invoker")
      scheduling.invokers.unsafeUpcast[Any] ! stray
      system.toClassic.actorSelection(s"/system/${SessionEndpoint.Name}").tell(stray, Actor.noSender)
      val invoker = TestProbe[ToLink]()(using system)
      endpoint ! Hello.own(InvokerId("i"), 1, invoker.ref, "own")
      invoker.expectMessageType[Welcome](Soon): Unit
      scheduling.invokers.unsafeUpcast[Any] ! stray
      endpoint ! Hello.own(InvokerId("j"), 1, invoker.ref, "own")
      assertEquals(invoker.expectMessageType[Welcome](Soon).epoch, 1L)
    finally
      system.terminate()
      Await.ready(system.whenTerminated, Soon)

  storage.test(
    "a scheduler that crashes hands over to the next one, as if that were on another controller"
  ): storage =>
    val system = ClusterNode()
    try
      val settings = MembershipSettings(0.seconds, 1.hour)
      val membership = Membership.begin(Vector.empty, UncontendedLock, settings)(using system)
      Await.result(membership.joined, Soon)
      val scheduling = ActorScheduling.start(system.settings.config)(storage)(using system)
      val endpoint = SessionEndpoint.at("pekko://burst")(using system)
      val invoker = TestProbe[ToLink]()(using system)
      endpoint ! Hello.own(InvokerId("i"), 1, invoker.ref, "own")
      val welcome = invoker.expectMessageType[Welcome](Soon)
      scheduling.invokers.unsafeUpcast[Any] ! GangScheduler.Submit(null, 1, system.ignoreRef)
      invoker.expectMessage(Soon, Over(welcome.session, handsOver = true))
      endpoint ! Hello.own(InvokerId("i"), 1, invoker.ref, "own")
      assertEquals(invoker.expectMessageType[Welcome](Soon).epoch, 2L)
    finally
      system.terminate()
      Await.ready(system.whenTerminated, Soon)

  storage.test("a replaced scheduler leaves even if only the database shows that it was replaced"): storage =>
    val system = ClusterNode()
    try
      val settings = MembershipSettings(0.seconds, 1.hour)
      val membership = Membership.begin(Vector.empty, UncontendedLock, settings)(using system)
      Await.result(membership.joined, Soon)
      ActorScheduling.start(system.settings.config)(storage)(using system)
      val deadline = Soon.fromNow
      while storage.epochs.present() == 0 && deadline.hasTimeLeft() do Thread.`yield`()
      assert(!membership.removed.isCompleted)
      // Another controller takes over, and leaves again.
      assertEquals(storage.epochs.next(), 2L)
      Await.result(membership.removed, Soon)
    finally
      system.terminate()
      Await.ready(system.whenTerminated, Soon)
