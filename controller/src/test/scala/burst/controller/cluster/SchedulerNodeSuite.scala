package burst.controller.cluster

import burst.controller.store.{EmbeddedStorage, UncontendedLock}
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt

class SchedulerNodeSuite extends munit.FunSuite, EmbeddedStorage:
  override def munitTimeout = 3.minutes
  private val Soon = 60.seconds

  storage.test("a scheduler that the database knows to be replaced leaves, although nobody tells it"):
    storage =>
      val system = ClusterNode()
      try
        val settings = MembershipSettings(0.seconds, 1.hour)
        val membership = Membership.begin(Vector.empty, UncontendedLock, settings)(using system)
        Await.result(membership.joined, Soon)
        ActorScheduling.start(system.settings.config)(storage)(using system)
        val deadline = Soon.fromNow
        while storage.epochs.present() == 0 && deadline.hasTimeLeft() do Thread.`yield`()
        assert(!membership.removed.isCompleted)
        // Another controller takes over, and is gone.
        assertEquals(storage.epochs.next(), 2L)
        Await.result(membership.removed, Soon)
      finally
        system.terminate()
        Await.ready(system.whenTerminated, Soon)
