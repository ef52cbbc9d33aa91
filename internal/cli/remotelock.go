package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/problem"
)

func newStackLockCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	var reason string
	cmd := &cobra.Command{
		Use:   "lock STACK",
		Short: "Lock a stack, so that nobody else changes its state",
		Long: `Lock a stack, so that nobody else changes its state until you unlock it. Others see
who has locked it, since when and why.

  assize stack lock network-prod --reason "the migration of tonight"
` + exitHelp,
		Args: exactlyOne("stack", "assize stack lock network-prod"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := r.stack(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var l v1.Lock
			if err := r.Ask(cmd.Context(), v1.TakeLock{Stack: s.ID, Reason: reason}, &l); err != nil {
				return lockedOut(err, s)
			}
			_, err = fmt.Fprintf(g.Out, "%s is locked by %s. To unlock it: assize stack unlock %s\n", s.Name, l.Holder.Name, s.Name)
			return err
		},
	}
	r.flags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that others see")
	return cmd
}

func newStackUnlockCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	var force bool
	var reason string
	cmd := &cobra.Command{
		Use:   "unlock STACK",
		Short: "Give back your lock of a stack, or break one",
		Long: `Give back your lock of a stack. With --force the lock is broken, whoever has it: look
first whether they are still at work. Who broke it, and why, is in the audit log.

  assize stack unlock network-prod
  assize stack unlock network-prod --force --reason "the job was killed"
` + exitHelp,
		Args: exactlyOne("stack", "assize stack unlock network-prod"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason != "" && !force {
				return problem.New(api.Invalid, "--reason is said of a lock that is broken").WithHint("add --force")
			}
			return g.stackUnlock(cmd.Context(), r, args[0], force, reason)
		},
	}
	r.flags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "break the lock, whoever has it")
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` for the audit log: why it is broken")
	return cmd
}

func (g *Globals) stackUnlock(ctx context.Context, r *remote, called string, force bool, reason string) error {
	s, err := r.stack(ctx, called)
	if err != nil {
		return err
	}
	if !force {
		if err := r.Ask(ctx, v1.ReleaseLock{Stack: s.ID}, nil); err != nil {
			return lockedOut(err, s)
		}
		_, err = fmt.Fprintf(g.Out, "%s is unlocked.\n", s.Name)
		return err
	}
	var broken v1.Lock
	if err := r.Ask(ctx, v1.BreakLock{Stack: s.ID, Reason: reason}, &broken); err != nil {
		return err
	}
	_, err = fmt.Fprintf(g.Out, "%s is unlocked. The lock was that of %s, since %s.\n", s.Name, broken.Holder.Name, moment(broken.Since))
	return err
}

// holding runs fn while this process holds the lock of a stack: another process of
// the same user has another key. The lock is given back whatever happens, Ctrl-C
// included.
func (r *remote) holding(ctx context.Context, s v1.Stack, doing string, fn func(key string) error) (err error) {
	host, _ := os.Hostname()
	key := rand.Text()
	err = r.Ask(ctx, v1.TakeLock{Stack: s.ID, Key: key, Reason: "assize " + doing + " on " + host}, nil)
	if err != nil && problem.Code(err) != api.Unavailable && problem.Code(err) != api.Limited {
		return err
	}
	defer func() {
		// After an answer that did not come, nobody knows whether there is a lock.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		defer cancel()
		if release := r.Ask(ctx, v1.ReleaseLock{Stack: s.ID, Key: key}, nil); release != nil && err == nil {
			err = problem.New(problem.Code(release), "it is done, but %s could not be unlocked: %w", s.Name, release).
				WithHint("assize stack unlock %s --force", s.Name)
		}
	}()
	if err != nil {
		return err
	}
	return fn(key)
}

// lockedOut is err with a hint that says what to do about a lock.
func lockedOut(err error, s v1.Stack) error {
	var p *problem.Error
	if errors.As(err, &p) && p.Code == api.Locked {
		return problem.New(api.Locked, "%s", p.Message).
			WithHint("wait until it is unlocked, or ask them; if they are gone: assize stack unlock %s --force", s.Name)
	}
	return err
}
