package burst.controller.store

import burst.controller.limits.OwnLimits
import burst.controller.store.Samples.limits
import burst.protocol.Timestamp
import scala.concurrent.duration.DurationInt

/** What every implementation of [[NamespaceStore]] must do. */
abstract class NamespaceStoreContract extends StorageFixtures:

  private def split(credentials: Option[String]): (String, String) =
    credentials.map(_.split(":", 2)) match
      case Some(Array(uuid, key)) => (uuid, key)
      case other => fail(s"not a key pair: $other")

  storage.test("wrong, swapped, empty and huge credentials open nothing"): s =>
    val (uuid, key) = split(s.namespaces.create("guest"))
    val wrong = Vector(
      (uuid, key.reverse),
      (key, uuid),
      ("", ""),
      (uuid, ""),
      ("' OR 1=1 --", key),
      (uuid, "x" * 1000000),
      (uuid + "\u0000", key),
      ("\ud800", "\ud800"),
      (uuid.toUpperCase + " ", key)
    )
    wrong.foreach((u, k) => assertEquals(s.namespaces.authenticate(u, k), None))

  storage.test("a key opens its own namespace, with the configured limits or the namespace's own"): s =>
    val (uuid, key) = split(s.namespaces.create("guest"))
    val own = limits.copy(burstSize = 3)
    val (otherUuid, otherKey) = split(s.namespaces.create("other", OwnLimits(burstSize = Some(3))))
    assertEquals(s.namespaces.authenticate(uuid, key), Some(Identity("guest", limits, Some(uuid))))
    assertEquals(
      s.namespaces.authenticate(otherUuid, otherKey),
      Some(Identity("other", own, Some(otherUuid)))
    )
    assertEquals(s.namespaces.authenticate(uuid, otherKey), None)
    assertEquals(s.namespaces.limits("other"), Some(own))
    assertEquals(s.namespaces.limits("nobody"), None)

  sharing.test("a program's key opens its caller's namespace until it expires, on every controller"):
    (one, other) =>
      val (uuid, _) = split(one.namespaces.create("guest"))
      val (otherUuid, _) = split(one.namespaces.create("other"))
      assertEquals(one.namespaces.find("guest").map(_.uuid), Some(uuid))
      def made(until: Timestamp) = one.secrets.activationKeys.make(uuid, until).getOrElse(fail("no key"))
      val key = made(Timestamp.now() + 1.minute)
      assertEquals(other.namespaces.authenticate(uuid, key).map(_.namespace), Some("guest"))
      assertEquals(other.namespaces.authenticate(otherUuid, key), None)
      assertEquals(other.namespaces.authenticate(uuid, made(Timestamp.now() - 1.milli)), None)

  storage.test("a program's key opens nothing once its namespace's key is replaced or revoked"): s =>
    def key(uuid: String) =
      s.secrets.activationKeys.make(uuid, Timestamp.now() + 1.minute).getOrElse(fail("no key"))
    val (uuid, _) = split(s.namespaces.create("guest"))
    val (newUuid, _) = split(s.namespaces.create("guest", overwrite = true))
    assertEquals(s.namespaces.authenticate(uuid, key(uuid)), None)
    assertEquals(s.namespaces.authenticate(newUuid, key(newUuid)).map(_.namespace), Some("guest"))
    s.namespaces.revoke("guest")
    assertEquals(s.namespaces.authenticate(newUuid, key(newUuid)), None)

  storage.test("replacing a key keeps the limits, and changing the limits keeps the key"): s =>
    val own = OwnLimits(burstSize = Some(7), egress = Some(true))
    val (uuid, key) = split(s.namespaces.create("team", own))
    val (newUuid, newKey) = split(s.namespaces.replaceKey("team").map(_.credentials))
    assertEquals(s.namespaces.authenticate(uuid, key), None)
    val kept = s.namespaces.authenticate(newUuid, newKey).map(_.limits)
    assertEquals(kept.map(limits => (limits.burstSize, limits.egress)), Some((7, true)))

    val limited = s.namespaces.limit("team", OwnLimits(burstSize = Some(9), memory = Some(512)))
    val seen = limited.map(n => (n.limits.burstSize, n.limits.memory, n.limits.egress))
    assertEquals(seen, Some((9, 512, true)))
    assertEquals(s.namespaces.authenticate(newUuid, newKey).map(_.limits), limited.map(_.limits))

    assertEquals(s.namespaces.replaceKey("nobody"), None)
    assertEquals(s.namespaces.limit("nobody", OwnLimits()), None)
    s.namespaces.revoke("team")
    assertEquals(s.namespaces.replaceKey("team"), None, "a revoked namespace stays revoked")

  storage.test("a namespace is created only once"): s =>
    assert(s.namespaces.create("guest").isDefined)
    assertEquals(s.namespaces.create("guest"), None)

  storage.test("a renewed key replaces the one that the platform made"): s =>
    assertEquals(s.namespaces.renewKey("guest"), None)
    val (uuid, key) = split(s.namespaces.establish("guest"))
    assertEquals(s.namespaces.establish("guest"), None)
    val (newUuid, newKey) = split(s.namespaces.renewKey("guest"))
    assertEquals(s.namespaces.authenticate(uuid, key), None)
    assertEquals(s.namespaces.authenticate(newUuid, newKey).map(_.namespace), Some("guest"))

  storage.test("a key that an administrator made, replaced or revoked is not renewed"): s =>
    val (uuid, key) = split(s.namespaces.create("made"))
    s.namespaces.establish("replaced")
    s.namespaces.create("replaced", overwrite = true)
    s.namespaces.establish("revoked")
    s.namespaces.revoke("revoked")
    Vector("made", "replaced", "revoked").foreach(name => assertEquals(s.namespaces.renewKey(name), None))
    assertEquals(s.namespaces.authenticate(uuid, key).map(_.namespace), Some("made"))
    assert(s.namespaces.find("revoked").exists(_.revoked.isDefined))

  sharing.test("a revoked key is refused immediately by all controllers of a database, until it is replaced"):
    (one, second) =>
      val other = if isShared then second else one
      val (uuid, key) = split(one.namespaces.create("guest"))
      assertEquals(other.namespaces.authenticate(uuid, key).map(_.namespace), Some("guest"))
      assertEquals(other.namespaces.revoked(), Set.empty[String])
      val revoked = one.namespaces.revoke("guest")
      assertEquals(other.namespaces.revoked(), Set("guest"))
      assert(revoked.exists(_.revoked.isDefined), revoked)
      assertEquals(other.namespaces.authenticate(uuid, key), None)
      assertEquals(one.namespaces.revoke("guest"), revoked, "a second revocation changes nothing")
      assertEquals(one.namespaces.revoke("nobody"), None)
      assertEquals(other.namespaces.find("guest"), revoked)
      assertEquals(one.namespaces.create("guest"), None)
      val (newUuid, newKey) = split(one.namespaces.create("guest", overwrite = true))
      assertEquals(other.namespaces.authenticate(newUuid, newKey).map(_.namespace), Some("guest"))
      assertEquals(other.namespaces.authenticate(uuid, key), None)

  storage.test("an overwrite replaces both key and limits"): s =>
    val (uuid, key) = split(s.namespaces.create("guest", OwnLimits(memory = Some(7))))
    val (newUuid, newKey) =
      split(s.namespaces.create("guest", OwnLimits(burstSize = Some(7)), overwrite = true))
    assertEquals(s.namespaces.authenticate(uuid, key), None)
    assertEquals(
      s.namespaces.authenticate(newUuid, newKey),
      Some(Identity("guest", limits.copy(burstSize = 7), Some(newUuid)))
    )

  storage.test("a list is sorted by name, and cut by limit and skip"): s =>
    Vector("c", "a", "b").foreach(s.namespaces.create(_))
    assertEquals(s.namespaces.list(10, 0).map(_.name), Vector("a", "b", "c"))
    assertEquals(s.namespaces.list(1, 1).map(n => n.name -> n.limits), Vector("b" -> limits))
