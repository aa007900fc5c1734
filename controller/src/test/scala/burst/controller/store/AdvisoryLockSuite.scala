package burst.controller.store

import scala.concurrent.duration.DurationInt

class AdvisoryLockSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes

  private val locks = FunFixture[() => AdvisoryLock](
    _ =>
      val settings = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
      () => AdvisoryLock(settings, "members")
    ,
    _ => ()
  )

  locks.test("many have a share, and then nobody gets the whole"): make =>
    val (one, other, third) = (make(), make(), make())
    assert(one.tryShared() && other.tryShared())
    assert(!third.tryExclusive())
    assertEquals(third.held(), None)
    one.close()
    assert(!third.tryExclusive())
    other.close()
    assert(third.tryExclusive())
    assertEquals(third.held(), Some(LockMode.Exclusive))
    third.close()

  locks.test("the holder of the whole keeps a share of it, and lets others have theirs only then"): make =>
    val (one, other) = (make(), make())
    assert(one.tryExclusive() && one.tryExclusive())
    assert(!other.tryShared() && !other.tryExclusive())
    assert(one.tryShared())
    assertEquals(one.held(), Some(LockMode.Shared))
    assert(other.tryShared() && !other.tryExclusive())
    one.close()
    other.close()

  locks.test("one that is released can be had again, one that is closed takes nothing"): make =>
    val lock = make()
    assert(lock.tryShared())
    lock.release()
    assert(lock.tryExclusive())
    lock.close()
    assert(!lock.tryShared() && !lock.tryExclusive())
    assertEquals(lock.held(), None)

  locks.test("locks of other names, and of other databases, are others"): make =>
    val settings = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
    val all = Vector(make(), AdvisoryLock(settings, "members"), AdvisoryLock(settings, "else"))
    assert(all.forall(_.tryExclusive()))
    all.foreach(_.close())

  test("a server that is killed takes the lock along, and gives it again when it is back"):
    val server = PostgresServer.fresh()
    try
      val settings = server.settings(server.createDatabase(), connectTimeout = 20.seconds)
      val lock = AdvisoryLock(settings, "members")
      assert(lock.tryShared())
      server.kill()
      assertEquals(lock.held(), None)
      val failure = intercept[StoreUnavailable](lock.tryShared())
      assert(!failure.getMessage.contains(settings.password), failure.getMessage)
      server.start()
      assert(lock.tryShared())
      assertEquals(lock.held(), Some(LockMode.Shared))
      lock.close()
    finally server.close()
