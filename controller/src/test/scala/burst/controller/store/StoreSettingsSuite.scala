package burst.controller.store

import burst.node.SetupException
import com.typesafe.config.ConfigFactory

class StoreSettingsSuite extends munit.FunSuite:
  private def read(key: String, url: String): StoreSettings =
    val own = s"""burst.store { directory = "d", $key.url = "$url" }"""
    StoreSettings.from(ConfigFactory.parseString(own).withFallback(ConfigFactory.load()))

  test("a database can have one host or several"):
    Vector(
      "postgresql://db/burst",
      "postgresql://my_db:5432/burst?sslmode=verify-full",
      "postgresql://[::1]:5432/burst",
      "postgresql://a.example:5432,b:5432,10.0.0.3/burst?targetServerType=primary"
    ).foreach: url =>
      assertEquals(read("postgresql", url).postgres.map(_.url.toString), Some(url))

  test("a number that must be at least one is reported by its setting"):
    for key <- Vector("read-connections", "retention.versions") do
      val own = ConfigFactory.parseString(s"burst.store { directory = d, $key = 0 }")
      val failure = intercept[SetupException](StoreSettings.from(own.withFallback(ConfigFactory.load())))
      assertEquals(failure.getMessage, s"burst.store.$key is 0: give 1 or more.")

  test("an address with a password, or without a host, is refused and not repeated"):
    Vector(
      "postgresql" -> "postgresql://me:hidden@a:5432/burst",
      "postgresql" -> "postgresql://me:hidden@a:5432,b:5432/burst",
      "postgresql" -> "postgresql://a:5432,me:hidden@b:5432/burst",
      "postgresql" -> "postgresql://a:5432,b:5432/burst?password=hidden",
      "postgresql" -> "postgresql://a:hidden,b/burst",
      "postgresql" -> "postgresql://a,/hidden",
      "postgresql" -> "postgresql:///hidden",
      "postgresql" -> "mysql://a/hidden",
      "s3" -> "s3://a,b/hidden",
      "s3" -> "s3://me:hidden@bucket/prefix"
    ).foreach: (key, url) =>
      val failure = intercept[SetupException](read(key, url))
      assert(!failure.getMessage.contains("hidden"), failure.getMessage)
      assert(failure.getMessage.contains(s"burst.store.$key.url"), failure.getMessage)
