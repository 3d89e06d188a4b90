package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	aws "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	mskiam "github.com/twmb/franz-go/pkg/sasl/aws"
)

// iamOptions are the options of Amazon's IAMLoginModule that take effect.
var iamOptions = map[string]bool{
	"awsProfileName": true, "awsRoleArn": true, "awsRoleSessionName": true, "awsRoleExternalId": true,
	"awsStsRegion": true, "awsDebugCreds": true, "awsMaxRetries": true, "awsMaxBackOffTimeMs": true,
}

// iam authenticates with the credentials that the AWS SDK finds: environment,
// profiles and single sign-on, web identity, container and instance roles. The
// SASL exchange itself is franz-go's; the region comes from the broker's host
// name, else from AWS_REGION.
func (b *builder) iam(jaas jaasEntry) (*login, error) {
	if s := b.cfg.SASL; s != nil && (s.Username != "" || s.Password != "") {
		return nil, b.usage("sasl", "AWS_MSK_IAM takes no user and password").
			WithHint("credentials come from AWS_PROFILE, AWS_ACCESS_KEY_ID, a role and so on")
	}
	for k := range jaas.options {
		if !iamOptions[k] {
			return nil, b.p.wrong(jaas.from, "option %s of the IAM login module is not supported", k)
		}
	}
	c := &awsChain{options: jaas.options}
	return &login{Mechanism: mskiam.ManagedStreamingIAM(c.auth)}, nil
}

// awsChain finds the credentials when the first connection needs them; the SDK
// renews them.
type awsChain struct {
	options map[string]string

	mu       sync.Mutex
	provider aws.CredentialsProvider
}

func (c *awsChain) auth(ctx context.Context) (mskiam.Auth, error) {
	p, err := c.find(ctx)
	if err != nil {
		return mskiam.Auth{}, err
	}
	v, err := p.Retrieve(ctx)
	if err != nil {
		return mskiam.Auth{}, fmt.Errorf("no AWS credentials: %w", firstLine(err))
	}
	return mskiam.Auth{AccessKey: v.AccessKeyID, SecretKey: v.SecretAccessKey, SessionToken: v.SessionToken}, nil
}

func (c *awsChain) find(ctx context.Context) (aws.CredentialsProvider, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.provider != nil {
		return c.provider, nil
	}
	var opts []func(*config.LoadOptions) error
	if p := c.options["awsProfileName"]; p != "" {
		opts = append(opts, config.WithSharedConfigProfile(p))
	}
	if r := c.options["awsStsRegion"]; r != "" {
		opts = append(opts, config.WithRegion(r))
	}
	cfg, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return nil, fmt.Errorf("no AWS credentials: %w", firstLine(err))
	}
	c.provider = cfg.Credentials
	if arn := c.options["awsRoleArn"]; arn != "" {
		c.provider = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), arn, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = first(c.options["awsRoleSessionName"], "kcm")
			if id := c.options["awsRoleExternalId"]; id != "" {
				o.ExternalID = aws.String(id)
			}
		}))
	}
	return c.provider, nil
}

// firstLine keeps an SDK's error to one line.
func firstLine(err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(line)
}
